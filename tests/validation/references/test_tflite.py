from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput, TensorSpec
from validation.references.tflite import TFLiteFramework

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")

FRAMEWORK = TFLiteFramework()


@pytest.fixture(scope="module")
def model() -> bytes:
    @tf.function  # type: ignore[untyped-decorator]
    def function(zeta: Any, alpha: Any) -> Any:
        return zeta - alpha, alpha * 2.0

    concrete = function.get_concrete_function(
        tf.TensorSpec([2, 3], name="zeta"), tf.TensorSpec([2, 3], name="alpha")
    )
    return bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())


def test_inputs_and_session_keep_order(model: bytes, tmp_path: Path) -> None:
    FRAMEWORK.store(model, tmp_path, {})
    restored = FRAMEWORK.restore(tmp_path)
    assert FRAMEWORK.inputs(restored, {}) == (
        TensorSpec("zeta", (2, 3), "float32"),
        TensorSpec("alpha", (2, 3), "float32"),
    )
    zeta, alpha = np.full((2, 3), 5, "float32"), np.arange(6, dtype="float32").reshape(2, 3)
    run = FRAMEWORK.session(restored, {}, 1)
    outputs = run({"alpha": alpha, "zeta": zeta})
    assert list(outputs) == [spec.name for spec in FRAMEWORK.load(model, {}).outputs]
    first, second = outputs.values()
    np.testing.assert_array_equal(first, zeta - alpha)
    np.testing.assert_array_equal(second, alpha * 2)
    np.testing.assert_array_equal(run({"alpha": zeta, "zeta": zeta})[next(iter(outputs))], 0)
    np.testing.assert_array_equal(first, zeta - alpha)  # not a view into the interpreter


def test_recognises(model: bytes) -> None:
    import tflite

    assert FRAMEWORK.recognises(model)
    assert FRAMEWORK.recognises(tflite.Model.GetRootAs(model))
    for other in (b"ONNX....", "model.tflite", tf.keras.Sequential(), None):
        assert not FRAMEWORK.recognises(other)


def test_open(model: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    with pytest.raises(InvalidInput, match=r"model\.tflite"):
        FRAMEWORK.open(path, trust=False)
    path.write_bytes(model[:100])
    with pytest.raises(InvalidInput, match=r"model\.tflite"):
        FRAMEWORK.open(path, trust=False)
    path.write_bytes(model)
    assert FRAMEWORK.open(path, trust=False) == model
