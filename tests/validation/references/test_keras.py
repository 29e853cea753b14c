import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput
from validation.references.keras import KerasFramework

pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

FRAMEWORK = KerasFramework()


class Twice(keras.layers.Layer):  # type: ignore[misc]
    def call(self, x: Any) -> Any:
        return x * 2.0


def model(*layers: Any) -> Any:
    return keras.Sequential([keras.Input((3,)), *layers])


def test_store_restore_and_session(tmp_path: Path) -> None:
    first, second = keras.Input((3,)), keras.Input((3,), name="a")
    dropped = keras.layers.Dropout(0.9)(first)
    original = keras.Model([first, second], [dropped - keras.layers.Dense(3)(second), second])
    FRAMEWORK.store(original, tmp_path, {})
    restored = FRAMEWORK.restore(tmp_path)
    specs = FRAMEWORK.inputs(original, {})
    assert specs == FRAMEWORK.inputs(restored, {})
    rng = np.random.default_rng(0)
    arrays = {spec.name: rng.standard_normal((2, 3)).astype("float32") for spec in specs}
    expected = original([arrays[spec.name] for spec in specs], training=False)
    for candidate in (original, restored):
        outputs = FRAMEWORK.session(candidate, {}, 1)(arrays)
        for found, right in zip(outputs.values(), expected, strict=True):
            np.testing.assert_allclose(found, np.asarray(right), rtol=1e-6)
    shapes = {"shape_dict": {name: array.shape for name, array in arrays.items()}}
    assert [s.name for s in FRAMEWORK.load(original, shapes).outputs] == list(outputs)


def test_own_layer_is_restored_from_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import keras\nclass Half(keras.layers.Layer):\n    def call(self, x): return x / 2\n"
    (tmp_path / "layer_of_a_user.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    half = importlib.import_module("layer_of_a_user").Half
    FRAMEWORK.store(model(half()), tmp_path, {})
    restored = FRAMEWORK.restore(tmp_path)
    np.testing.assert_array_equal(restored(np.ones((1, 3), "float32")), [[0.5, 0.5, 0.5]])


def test_own_layer_that_cannot_be_imported(tmp_path: Path) -> None:
    class Hidden(Twice):
        pass

    FRAMEWORK.store(model(Hidden()), tmp_path, {})
    with pytest.raises(InvalidInput, match="can be imported"):
        FRAMEWORK.restore(tmp_path)


@pytest.mark.parametrize("suffix", [".keras", ".h5", ".hdf5"])
def test_open(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    original = model(keras.layers.Dense(2), keras.layers.BatchNormalization())
    original.save(path)
    opened = FRAMEWORK.open(path, trust=False)
    array = np.ones((1, 3), "float32")
    np.testing.assert_array_equal(opened(array), original(array))
    path.write_bytes(path.read_bytes()[:64])
    with pytest.raises(InvalidInput, match="model"):
        FRAMEWORK.open(path, trust=False)


@pytest.mark.parametrize("suffix", [".keras", ".h5"])
def test_code_in_a_file_needs_trust(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    model(keras.layers.Lambda(lambda x: x * 2.0)).save(path)
    with pytest.raises(InvalidInput, match="Lambda"):
        FRAMEWORK.open(path, trust=False)
    opened = FRAMEWORK.open(path, trust=True)
    np.testing.assert_array_equal(opened(np.ones((1, 3), "float32")), [[2, 2, 2]])


def test_own_classes_in_a_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    model(Twice()).save(path)
    with pytest.raises(InvalidInput, match="Twice"):
        FRAMEWORK.open(path, trust=False)


def test_weights_only_file(tmp_path: Path) -> None:
    path = tmp_path / "model.weights.h5"
    model(keras.layers.Dense(2)).save_weights(path)
    with pytest.raises(InvalidInput, match="without a model"):
        FRAMEWORK.open(path, trust=False)
