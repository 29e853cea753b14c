from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from forge import RunError, UnsupportedOperator
from validation.references.arbiters import arbiters_of, float64_run
from validation.references.arbiters.onnx_double import widen_model

F = TensorProto.FLOAT
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16)


def model_of(
    nodes: list[Any],
    inputs: dict[str, tuple[int, list[Any]]],
    outputs: dict[str, int],
    constants: dict[str, np.ndarray] | None = None,
    opset: int = 20,
) -> Any:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(n, kind, None) for n, kind in outputs.items()],
        [numpy_helper.from_array(array, n) for n, array in (constants or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def run(model: Any, **inputs: np.ndarray) -> dict[str, np.ndarray]:
    arbiter = float64_run("onnx", model, {}, 1).arbiter
    assert arbiter is not None
    return arbiter.start()(inputs)


def element_types(message: Any) -> Iterator[int]:
    """Yield every element type, of values and of tensors, in a protobuf message."""
    for field, value in message.ListFields():
        if field.name in ("elem_type", "data_type"):
            yield value
        elif field.message_type is not None:
            for part in value if isinstance(value, list) or hasattr(value, "append") else [value]:
                yield from element_types(part)


def branches() -> Any:
    """Choose 0.1 or 0.2, constants inside the branches, one through float16."""
    halves = [
        helper.make_node("Constant", [], ["h"], value_float=0.2),
        helper.make_node("Cast", ["h"], ["f16"], to=TensorProto.FLOAT16),
        helper.make_node("Cast", ["f16"], ["b"], to=F),
    ]
    tenths = [
        helper.make_node(
            "Constant", [], ["a"], value=numpy_helper.from_array(np.array(0.1, np.float32))
        )
    ]
    choice = helper.make_node(
        "If",
        ["c"],
        ["chosen"],
        then_branch=helper.make_graph(tenths, "t", [], [helper.make_tensor_value_info("a", F, [])]),
        else_branch=helper.make_graph(halves, "e", [], [helper.make_tensor_value_info("b", F, [])]),
    )
    return model_of(
        [choice, helper.make_node("Mul", ["x", "chosen"], ["y"])],
        {"x": (F, [3]), "c": (TensorProto.BOOL, [])},
        {"y": F},
    )


def test_every_declared_type_becomes_double() -> None:
    model = branches()
    widen_model(model)
    assert not set(element_types(model)) & set(FLOATS)


@pytest.mark.parametrize(("condition", "factor"), [(True, 0.1), (False, 0.2)])
def test_branches(condition: bool, factor: float, is_float64: Callable[..., None]) -> None:
    x = np.array([1.1, 2.3, -3.7], np.float32)
    result = run(branches(), x=x, c=np.array(condition))
    is_float64(result["y"], x.astype(np.float64) * np.float64(np.float32(factor)))


def test_constants_in_all_their_forms(is_float64: Callable[..., None]) -> None:
    nodes = [
        helper.make_node("Constant", [], ["a"], value_floats=[0.1, 0.2, 0.3]),
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("ConstantOfShape", ["s"], ["zero"]),
        helper.make_node(
            "ConstantOfShape",
            ["s"],
            ["third"],
            value=numpy_helper.from_array(np.array([1 / 3], np.float32)),
        ),
        helper.make_node("Mul", ["x", "a"], ["p"]),
        helper.make_node("Add", ["p", "zero"], ["q"]),
        helper.make_node("Add", ["q", "third"], ["r"]),
        helper.make_node("Add", ["r", "half"], ["y"]),
    ]
    half = np.array(0.7, np.float16)
    nodes.insert(0, helper.make_node("Cast", ["stored"], ["half"], to=F))
    model = model_of(nodes, {"x": (F, [3])}, {"y": F}, {"stored": half})
    x = np.array([1.1, 2.3, -3.7], np.float32)
    factors = np.array([0.1, 0.2, 0.3], np.float32).astype(np.float64)
    expected = x * factors + np.float64(np.float32(1 / 3)) + np.float64(half)
    is_float64(run(model, x=x)["y"], expected)


def test_integers_keep_their_dtypes() -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT32),
        helper.make_node("Cast", ["x"], ["b"], to=TensorProto.BOOL),
        helper.make_node("Cast", ["i"], ["f"], to=TensorProto.FLOAT16),
    ]
    model = model_of(
        nodes,
        {"x": (F, [2])},
        {"i": TensorProto.INT32, "b": TensorProto.BOOL, "f": TensorProto.FLOAT16},
    )
    result = run(model, x=np.array([2.5, 0], np.float32))
    assert [result[name].dtype.name for name in "ibf"] == ["int32", "bool", "float64"]


def test_bodies_that_the_standard_defines(is_float64: Callable[..., None]) -> None:
    """Gelu has no kernel in the evaluator: its body holds constants and calls Erf."""
    model = model_of([helper.make_node("Gelu", ["x"], ["y"])], {"x": (F, [4])}, {"y": F})
    x = np.array([1.1, 2.3, -3.7, 0.2], np.float32)
    expected = [0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.astype(np.float64).tolist()]
    is_float64(run(model, x=x)["y"], np.array(expected))


def test_a_half_precision_model_is_widened(is_float64: Callable[..., None]) -> None:
    half = TensorProto.FLOAT16
    weights = np.array([[0.1, 0.2]], np.float16)
    model = model_of(
        [helper.make_node("Div", ["x", "w"], ["y"])],
        {"x": (half, [1, 2])},
        {"y": half},
        {"w": weights},
    )
    x = np.array([[1.1, 2.3]], np.float16)
    is_float64(run(model, x=x)["y"], x.astype(np.float64) / weights.astype(np.float64))


def test_what_stays_narrow_is_found() -> None:
    """A label encoder gives float32 by its own definition."""
    node = helper.make_node(
        "LabelEncoder",
        ["k"],
        ["l"],
        domain="ai.onnx.ml",
        keys_int64s=[1, 2],
        values_floats=[0.1, 0.2],
    )
    model = model_of([node], {"k": (TensorProto.INT64, [2])}, {"l": F})
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    with pytest.raises(RunError, match="LabelEncoder gave float32"):
        run(model, k=np.array([1, 2]))


def test_a_dtype_that_a_function_takes_from_its_caller_is_refused() -> None:
    cast = helper.make_node("Cast", ["a"], ["b"])
    attribute = cast.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "to", "kind", 2
    function = helper.make_function(
        "mine", "To", ["a"], ["b"], [cast], [helper.make_opsetid("", 20)], ["kind"]
    )
    model = model_of(
        [helper.make_node("To", ["x"], ["y"], domain="mine", kind=F)], {"x": (F, [2])}, {"y": F}
    )
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    with pytest.raises(UnsupportedOperator, match="Cast") as caught:
        arbiters_of("onnx", model, {}, 1)[2].start()
    assert caught.value.operators == ("Cast",)
