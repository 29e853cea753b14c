"""``forge check`` on a file of every format that it opens."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from validation.cli import main


def _torch_module() -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)).eval()


def _onnx(folder: Path) -> list[str]:
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    weight = np.random.default_rng(0).standard_normal((3, 2)).astype("float32")
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["N", 2])],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), folder / "m.onnx")
    return [str(folder / "m.onnx")]


def _traced(folder: Path) -> list[str]:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = torch.jit.trace(_torch_module(), torch.randn(2, 3))
        torch.jit.save(traced, folder / "m.pt")
    return [str(folder / "m.pt"), "--input", "x=2x3"]


def _exported(folder: Path) -> list[str]:
    torch = pytest.importorskip("torch")
    program = torch.export.export(_torch_module(), (torch.randn(2, 3),))
    torch.export.save(program, folder / "m.pt2")
    return [str(folder / "m.pt2")]


def _keras(suffix: str) -> Callable[[Path], list[str]]:
    def make(folder: Path) -> list[str]:
        keras = pytest.importorskip("keras")
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, activation="tanh")])
        model.save(folder / f"m{suffix}")
        return [str(folder / f"m{suffix}")]

    return make


def _function() -> tuple[Any, Any]:
    tf = pytest.importorskip("tensorflow")
    weight = tf.constant(np.random.default_rng(0).standard_normal((3, 2)).astype("float32"))
    function = tf.function(
        lambda x: {"y": tf.tanh(x @ weight)},
        input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")],
    )
    return tf, function


def _saved_model(folder: Path) -> list[str]:
    tf, function = _function()
    module = tf.Module()
    module.function = function
    tf.saved_model.save(module, str(folder / "saved"), signatures=function)
    return [str(folder / "saved")]


def _frozen_graph(folder: Path) -> list[str]:
    _, function = _function()
    graph = function.get_concrete_function().graph
    (folder / "m.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return [str(folder / "m.pb"), "--outputs", graph.outputs[0].op.inputs[0].name]


def _tflite(folder: Path) -> list[str]:
    tf, function = _function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    (folder / "m.tflite").write_bytes(converter.convert())
    return [str(folder / "m.tflite")]


FORMATS = {
    ".onnx": _onnx,
    ".pt": _traced,
    ".pt2": _exported,
    ".keras": _keras(".keras"),
    ".h5": _keras(".h5"),
    "SavedModel": _saved_model,
    ".pb": _frozen_graph,
    ".tflite": _tflite,
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_of_each_format_passes(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = FORMATS[name](tmp_path)
    capfd.readouterr()
    code = main(["check", *arguments, "--no-latency", "--json"])
    (line,) = capfd.readouterr().out.splitlines()
    row = json.loads(line)
    assert (code, row["status"]) == (0, "PASS"), row["message"]
    assert [each["sample"] for each in row["comparisons"]] == [0, 1, 2]
