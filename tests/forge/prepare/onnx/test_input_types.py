from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput, TensorSpec

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from forge.prepare.onnx.input_types import apply_input_types, input_specs  # noqa: E402


@pytest.fixture
def graph(onnx_model: Callable[..., Any]) -> Any:
    """Two inputs with open dimensions: x is (N, ?, 4), z is (N, ?)."""
    nodes = [helper.make_node("Identity", ["x"], ["y"])]
    inputs = {"x": (("N", None, 4), "float32"), "z": (("N", None), "int64")}
    return onnx_model(nodes, inputs, {"y": (None, "float32")}).graph


def shapes(graph: Any) -> list[tuple[Any, ...]]:
    return [spec.shape for spec in input_specs(graph)]


def test_inputs_are_described_and_weights_are_none(onnx_model: Callable[..., Any]) -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    inputs = {"x": (("N", None, 4), "float16"), "w": ((4,), "float16")}
    weights = {"w": np.zeros(4, "float16")}
    model = onnx_model(nodes, inputs, {"y": (None, "float16")}, weights)
    assert input_specs(model.graph) == (TensorSpec("x", ("N", "?", 4), "float16"),)


def test_open_dimensions_get_names_of_their_own(graph: Any) -> None:
    """TVM gives all unnamed dimensions one variable, which makes them equal."""
    assert apply_input_types(graph, None, None).count == 2
    (batch, x1, last), (same, z1) = shapes(graph)
    assert (batch, same, last) == ("N", "N", 4)
    assert x1 != z1
    assert all(name.isidentifier() for name in (x1, z1))


def test_a_dimension_of_minus_one_is_open(graph: Any) -> None:
    graph.input[1].type.tensor_type.shape.dim[1].dim_value = -1
    assert shapes(graph)[1] == ("N", "?")
    apply_input_types(graph, None, None)
    assert shapes(graph)[1] == ("N", "z_1")


def test_a_name_that_is_no_identifier_is_replaced_everywhere(graph: Any) -> None:
    for value in graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "batch size"
    apply_input_types(graph, {"x": ("batch size".replace(" ", "_"), 3, 4)}, None)
    (first, *_), (second, *_) = shapes(graph)
    assert first == "batch_size"
    assert second != "batch size"
    assert second.isidentifier()


def test_the_callers_shapes_and_dtypes_are_written(graph: Any) -> None:
    step = apply_input_types(graph, {"x": (2, "L", 4), "z": (2, 5)}, {"z": "int32"})
    assert step.count == 3
    assert input_specs(graph) == (
        TensorSpec("x", (2, "L", 4), "float32"),
        TensorSpec("z", (2, 5), "int32"),
    )


@pytest.mark.parametrize(
    ("shape_dict", "dtype_dict", "match"),
    [
        ({"typo": (1,)}, None, "shape_dict names 'typo'"),
        (None, {"typo": "int32"}, "dtype_dict names 'typo'"),
        ({"x": (2, 3)}, None, "the model has"),
        ({"x": (2, 3, 5)}, None, "the model has"),
        ({"x": (-1, 3, 4)}, None, "the model has"),
        ({"x": (True, 3, 4)}, None, "the model has"),
        ({"x": ("no name", 3, 4)}, None, "the model has"),
        (None, {"z": "int7"}, "the dtype 'int7'"),
    ],
)
def test_what_does_not_fit_is_refused(
    shape_dict: Any, dtype_dict: Any, match: str, graph: Any
) -> None:
    with pytest.raises(InvalidInput, match=match):
        apply_input_types(graph, shape_dict, dtype_dict)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (helper.make_tensor_value_info("x", TensorProto.STRING, [2]), "STRING"),
        (helper.make_tensor_value_info("x", TensorProto.FLOAT, None), "no declared rank"),
        (helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [2]), "no tensor"),
    ],
)
def test_inputs_that_tvm_cannot_hold_are_refused(value: Any, match: str) -> None:
    graph = helper.make_graph([], "test", [value], [])
    with pytest.raises(InvalidInput, match=match):
        input_specs(graph)
