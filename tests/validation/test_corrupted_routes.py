"""Corrupt the intermediate of each loader's route and see the check fail.

If a reference were taken from an intermediate, both sides would share the fault and the check would
pass.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from validation.case import BuiltSample, Case
from validation.cell import run_cell
from validation.vocabulary import Reason, Stage, Status

WEIGHT = np.array([[0.731, -1.25], [2.125, 0.377], [-0.611, 1.9]], "float32")
BIAS = np.array([0.25, -0.5], "float32")
X = np.array([[1, 2, 3], [0.5, -1, 4]], "float32")


def damaged(data: bytes) -> bytes:
    """Change one weight in a file of whatever format, in either memory order."""
    for stored in (WEIGHT, WEIGHT.T):
        found = data.find(np.ascontiguousarray(stored).tobytes())
        if found >= 0:
            wrong = stored[0, 0] + np.float32(1)
            return data[:found] + wrong.astype("float32").tobytes() + data[found + 4 :]
    raise AssertionError("the weight is not in the intermediate")


def torch_module() -> Any:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(WEIGHT.T.copy()))
        layer.bias.copy_(torch.from_numpy(BIAS))
    return torch.nn.Sequential(layer, torch.nn.Tanh()).eval()


def torch_sample(make: Callable[[Any, Any], Any]) -> Callable[[], BuiltSample]:
    def build() -> BuiltSample:
        torch = pytest.importorskip("torch")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make(torch_module(), torch.from_numpy(X))
        return BuiltSample(model, {"x": X}, {"input_info": [("x", (2, 3))]})

    return build


def onnx_sample() -> BuiltSample:
    onnx = pytest.importorskip("onnx")
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            torch_module(), (torch.from_numpy(X),), file, dynamo=False, input_names=["x"]
        )
    return BuiltSample(onnx.load_from_string(file.getvalue()), {"x": X})


def keras_model() -> Any:
    keras = pytest.importorskip("keras")
    model = keras.Sequential(
        [keras.Input((3,), name="x"), keras.layers.Dense(2, activation="tanh")]
    )
    model.set_weights([WEIGHT, BIAS])
    return model


def keras_sample(options: dict[str, Any]) -> Callable[[], BuiltSample]:
    return lambda: BuiltSample(keras_model(), {"x": X}, options)


def tensorflow_sample() -> BuiltSample:
    tf = pytest.importorskip("tensorflow")
    weight, bias = tf.Variable(WEIGHT), tf.Variable(BIAS)
    function = tf.function(
        lambda x: tf.tanh(x @ weight + bias),
        input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")],
    )
    function.kept_alive = (weight, bias)
    return BuiltSample(function, {"x": X})


def tflite_sample() -> BuiltSample:
    tf = pytest.importorskip("tensorflow")
    function = tf.function(
        lambda x: tf.tanh(x @ tf.constant(WEIGHT) + BIAS),
        input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")],
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    data = converter.convert()
    (name,) = [d["name"] for d in tf.lite.Interpreter(model_content=data).get_input_details()]
    return BuiltSample(data, {name: X})


def damage_program(program: Any) -> None:
    """Change the weight of an ExportedProgram that is about to be imported, wherever it is held."""
    torch = pytest.importorskip("torch")
    changed = 0
    holders = [program.state_dict, program.constants]
    for holder in holders:
        for name, tensor in holder.items():
            if isinstance(tensor, torch.Tensor) and tensor.numel() == WEIGHT.size:
                wrong = tensor.detach().clone()
                wrong.view(-1)[0] += 1
                holder[name] = wrong
                changed += 1
    assert changed, "the weight is not in the program"


def corrupt_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    from forge.prepare.torch import frontend

    genuine = frontend.call_frontend

    def corrupted(program: Any, **options: Any) -> Any:
        damage_program(program)
        return genuine(program, **options)

    monkeypatch.setattr(frontend, "call_frontend", corrupted)


def corrupt_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    from forge.loaders import onnx as loader

    onnx = pytest.importorskip("onnx")
    genuine = loader._call_frontend

    def corrupted(model: Any, *arguments: Any) -> Any:
        wrong = onnx.load_from_string(damaged(model.SerializeToString()))
        return genuine(wrong, *arguments)

    monkeypatch.setattr(loader, "_call_frontend", corrupted)


def corrupt_tflite_route(monkeypatch: pytest.MonkeyPatch) -> None:
    from forge.prepare.tensorflow import routes

    genuine = routes.to_tflite
    monkeypatch.setattr(routes, "to_tflite", lambda function: damaged(genuine(function)))


def corrupt_onnx_route(monkeypatch: pytest.MonkeyPatch) -> None:
    from forge.prepare.tensorflow import routes

    onnx = pytest.importorskip("onnx")
    genuine = routes.to_onnx

    def corrupted(*arguments: Any) -> Any:
        return onnx.load_from_string(damaged(genuine(*arguments).SerializeToString()))

    monkeypatch.setattr(routes, "to_onnx", corrupted)


def corrupt_tflite(monkeypatch: pytest.MonkeyPatch) -> None:
    from forge.prepare.tflite import read_buffer

    genuine = read_buffer.read_buffer
    monkeypatch.setattr(
        read_buffer, "read_buffer", lambda model: bytearray(damaged(bytes(genuine(model))))
    )


def _traced(module: Any, x: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.jit.trace(module, x)


def _scripted(module: Any, x: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.jit.script(module)


def _exported(module: Any, x: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.export.export(module, (x,))


def _symbolic(module: Any, x: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.fx.symbolic_trace(module)


ROUTES = {
    "onnx": ("onnx", onnx_sample, corrupt_onnx),
    "torch module": ("torch", torch_sample(lambda module, x: module), corrupt_torch),
    "torch traced": ("torch", torch_sample(_traced), corrupt_torch),
    "torch scripted": ("torch", torch_sample(_scripted), corrupt_torch),
    "torch exported": ("torch", torch_sample(_exported), corrupt_torch),
    "torch fx": ("torch", torch_sample(_symbolic), corrupt_torch),
    "keras by tflite": ("keras", keras_sample({"shape_dict": {"x": (2, 3)}}), corrupt_tflite_route),
    "keras by onnx": ("keras", keras_sample({}), corrupt_onnx_route),
    "tensorflow": ("tensorflow", tensorflow_sample, corrupt_tflite_route),
    "tflite": ("tflite", tflite_sample, corrupt_tflite),
}


@pytest.mark.parametrize("route", ROUTES)
def test_a_corrupted_intermediate_fails(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    framework, build, corrupt = ROUTES[route]
    case = Case(f"{framework}/corrupted/{route}", framework, build, latency=False)

    genuine = run_cell(case, "llvm")
    assert genuine, genuine.message
    corrupt(monkeypatch)
    row = run_cell(case, "llvm")

    assert (row.status, row.stage, row.reason) == (
        Status.FAIL,
        Stage.COMPARE,
        Reason.WRONG_VALUES,
    ), row.message
