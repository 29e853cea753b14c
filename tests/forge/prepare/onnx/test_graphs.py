from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from forge.prepare.onnx.graphs import (  # noqa: E402
    all_graphs,
    all_nodes,
    domain_of,
    model_inputs,
    names_read,
    operator_name,
    opset_of,
)


def graph_of(name: str, nodes: list[Any], output: str) -> Any:
    value = helper.make_tensor_value_info(output, TensorProto.FLOAT, [2])
    return helper.make_graph(nodes, name, [], [value])


@pytest.fixture
def nested(onnx_model: Callable[..., Any]) -> Any:
    """An If in a branch of an If; its branches read x, w and own values."""
    inner = helper.make_node(
        "If",
        ["d"],
        ["i"],
        then_branch=graph_of("inner_then", [helper.make_node("Abs", ["x"], ["p"])], "p"),
        else_branch=graph_of("inner_else", [helper.make_node("Neg", ["own"], ["q"])], "q"),
    )
    then = graph_of("then", [helper.make_node("Exp", ["w"], ["own"]), inner], "i")
    otherwise = graph_of("else", [], "given")
    node = helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=otherwise)
    return onnx_model([node], {"x": ((2,), "float32")}, {"y": ((2,), "float32")})


def test_operators_are_named_by_domain() -> None:
    standard = helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx")
    other = helper.make_node("Relu", ["x"], ["y"], domain="my.custom")
    assert (domain_of(standard), domain_of(other)) == ("", "my.custom")
    assert operator_name(standard) == "ai.onnx::Relu"
    assert operator_name(other) == "my.custom::Relu"


def test_nested_graphs_are_walked(nested: Any) -> None:
    names = [graph.name for graph in all_graphs(nested.graph)]
    assert names[0] == "test"
    assert sorted(names) == ["else", "inner_else", "inner_then", "test", "then"]
    assert names.index("then") < names.index("inner_then")
    found = sorted(node.op_type for node in all_nodes(nested.graph))
    assert found == ["Abs", "Exp", "If", "If", "Neg"]


def test_a_node_reads_what_its_branches_read_from_outside(nested: Any) -> None:
    assert names_read(nested.graph.node[0]) == {"c", "d", "w", "x", "given"}
    absent = helper.make_node("Clip", ["x", "", "high"], ["y"])
    assert names_read(absent) == {"x", "high"}


def test_initializers_are_no_inputs(onnx_model: Callable[..., Any]) -> None:
    inputs = {"x": ((2,), "float32"), "w": ((2,), "float32")}
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    weights = {"w": np.ones(2, "float32")}
    model = onnx_model(nodes, inputs, {"y": ((2,), "float32")}, weights)
    assert [value.name for value in model_inputs(model.graph)] == ["x"]


def test_the_default_domains_opset(onnx_model: Callable[..., Any]) -> None:
    model = onnx_model([], {}, {}, opset=15, domains=["my.custom"])
    assert opset_of(model) == 15
    model.opset_import[0].domain = "ai.onnx"
    assert opset_of(model) == 15
    del model.opset_import[0]
    assert opset_of(model) == 1
