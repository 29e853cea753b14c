from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from forge.prepare.onnx.constant_nodes import bind_constant_nodes  # noqa: E402


def constant(name: str, **attribute: Any) -> Any:
    return helper.make_node("Constant", [], [name], **attribute)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ({"value_int": 2**53 + 1}, np.array(2**53 + 1, "int64")),
        ({"value_ints": [1, -2]}, np.array([1, -2], "int64")),
        ({"value_float": 0.5}, np.array(0.5, "float32")),
        ({"value_floats": [0.1, 2.0]}, np.array([0.1, 2.0], "float32")),
        ({"value": numpy_helper.from_array(np.array([[7]], "uint8"))}, np.array([[7]], "uint8")),
    ],
)
def test_every_numeric_attribute_is_bound(
    attribute: dict[str, Any], expected: np.ndarray, onnx_model: Callable[..., Any]
) -> None:
    """TVM reads ``value`` only: apache/tvm 15719."""
    nodes = [constant("c", **attribute), helper.make_node("Identity", ["c"], ["y"])]
    model = onnx_model(nodes, {}, {"y": (expected.shape, expected.dtype.name)})
    assert bind_constant_nodes(model).count == 1
    assert [node.op_type for node in model.graph.node] == ["Identity"]
    (bound,) = model.graph.initializer
    found = numpy_helper.to_array(bound)
    assert bound.name == "c"
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    onnx.checker.check_model(model)


def test_strings_and_other_domains_stay(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        constant("s", value_string="text"),
        helper.make_node("Constant", [], ["o"], domain="my.custom", value_int=1),
        helper.make_node("Identity", ["x"], ["y"]),
    ]
    model = onnx_model(
        nodes, {"x": ((2,), "float32")}, {"y": ((2,), "float32")}, domains=["my.custom"]
    )
    assert bind_constant_nodes(model).count == 0
    assert [node.op_type for node in model.graph.node] == ["Constant", "Constant", "Identity"]
    assert not model.graph.initializer


def test_constants_of_a_branch_are_bound_in_the_branch(onnx_model: Callable[..., Any]) -> None:
    def branch(name: str, number: float) -> Any:
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        nodes = [constant(f"{name}_c", value_float=number)]
        nodes.append(helper.make_node("Add", ["x", f"{name}_c"], [name]))
        return helper.make_graph(nodes, name, [], [output])

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", 1.0), else_branch=branch("e", 2.0)
    )
    model = onnx_model(
        [node], {"c": ((), "bool"), "x": ((2,), "float32")}, {"y": ((2,), "float32")}
    )
    assert bind_constant_nodes(model).count == 2
    assert not model.graph.initializer
    branches = {a.g.name: a.g for a in model.graph.node[0].attribute}
    assert [t.name for t in branches["t"].initializer] == ["t_c"]
    assert [t.name for t in branches["e"].initializer] == ["e_c"]
    onnx.checker.check_model(model)
