from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput
from validation.references.tensorflow import TensorFlowFramework

tf = pytest.importorskip("tensorflow")

FRAMEWORK = TensorFlowFramework()
PAIR = [tf.TensorSpec([None, 3], name="zz"), tf.TensorSpec([None, 3], name="aa")]


class Net(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable([2.0, 3.0, 4.0])

    @tf.function(input_signature=PAIR)  # type: ignore[untyped-decorator]
    def differ(self, zz: Any, aa: Any) -> Any:
        return {"right": zz - aa * self.weight, "left": aa}


def graph_def() -> Any:
    graph = tf.Graph()
    with graph.as_default():
        zz = tf.compat.v1.placeholder(tf.float32, [None, 3], name="zz")
        aa = tf.compat.v1.placeholder(tf.float32, [None, 3], name="aa")
        tf.identity(aa, name="left")
        tf.subtract(zz, aa * tf.constant([2.0, 3.0, 4.0]), name="right")
    return graph.as_graph_def()


NET = Net()
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "module": (NET, {"signature": "differ"}),
    "function": (NET.differ, {}),
    "concrete function": (NET.differ.get_concrete_function(), {}),
    "graph": (graph_def(), {"outputs": ["left", "right"]}),
}


@pytest.mark.parametrize("kind", MODELS)
def test_order_survives_store_and_restore(kind: str, tmp_path: Path) -> None:
    model, options = MODELS[kind]
    assert FRAMEWORK.recognises(model)
    FRAMEWORK.store(model, tmp_path, {})
    restored = FRAMEWORK.restore(tmp_path)
    zz, aa = np.full((2, 3), 5, "float32"), np.arange(6, dtype="float32").reshape(2, 3)
    for candidate in (model, restored):
        assert [spec.name for spec in FRAMEWORK.inputs(candidate, options)] == ["zz", "aa"]
        outputs = FRAMEWORK.session(candidate, options, 1)({"aa": aa, "zz": zz})
        assert list(outputs) == ["left", "right"]
        np.testing.assert_array_equal(outputs["left"], aa)
        np.testing.assert_array_equal(outputs["right"], zz - aa * [2, 3, 4])


def test_saved_model_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    tf.saved_model.save(NET, str(folder), signatures={"serving_default": NET.differ})
    assert FRAMEWORK.opens_folder(folder)
    assert not FRAMEWORK.opens_folder(tmp_path)
    model = FRAMEWORK.open(folder, trust=False)
    FRAMEWORK.store(model, tmp_path, {})
    restored = FRAMEWORK.restore(tmp_path)
    # TensorFlow sorts the keyword arguments of a signature.
    for candidate in (model, restored):
        assert [spec.name for spec in FRAMEWORK.inputs(candidate, {})] == ["aa", "zz"]
    with pytest.raises(InvalidInput, match="folder"):
        FRAMEWORK.open(folder / "saved_model.pb", trust=False)
    (folder / "saved_model.pb").write_bytes(b"\xff" * 50)
    with pytest.raises(InvalidInput, match="saved_model"):
        FRAMEWORK.open(folder, trust=False)


def test_frozen_graph_file(tmp_path: Path) -> None:
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_def().SerializeToString())
    assert FRAMEWORK.open(path, trust=False) == graph_def()
    path.write_bytes(b"\xff" * 50)
    with pytest.raises(InvalidInput, match="GraphDef"):
        FRAMEWORK.open(path, trust=False)


def test_files_that_reach_outside_need_trust(tmp_path: Path) -> None:
    class Reader(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([], tf.string)])  # type: ignore[untyped-decorator]
        def __call__(self, name: Any) -> Any:
            return tf.io.read_file(name)

    tf.saved_model.save(Reader(), str(tmp_path / "model"))
    with pytest.raises(InvalidInput, match="ReadFile"):
        FRAMEWORK.open(tmp_path / "model", trust=False)
    assert FRAMEWORK.open(tmp_path / "model", trust=True)


def test_untraced_function_cannot_be_stored(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="input_signature"):
        FRAMEWORK.store(tf.function(lambda x: x), tmp_path, {})


def test_recognises_nothing_else() -> None:
    for other in (b"", "path", None, tf.keras.Sequential(), tf.keras.layers.Dense(1)):
        assert not FRAMEWORK.recognises(other)
