from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

from forge.prepare.onnx.inference import inferred_graph  # noqa: E402


def shape(value: Any) -> list[Any]:
    return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in value.shape.dim]


def test_shapes_come_from_inputs_and_not_from_what_is_declared(
    onnx_model: Callable[..., Any],
) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Reshape", ["m", "target"], ["y"]),
    ]
    constants = {
        "w": np.zeros((64, 60), "float32"),  # larger than what is carried along
        "target": np.array([-1, 20]),
    }
    model = onnx_model(
        nodes, {"x": (("N", 64), "float32")}, {"y": ((99, 99), "float32")}, constants
    )
    before = model.SerializeToString()
    graph = inferred_graph(model)
    assert model.SerializeToString() == before
    assert [tensor.name for tensor in graph.initializer] == ["target"]
    types = {v.name: v.type.tensor_type for v in (*graph.value_info, *graph.output)}
    assert shape(types["m"]) == ["N", 60]
    assert shape(types["y"])[1] == 20
