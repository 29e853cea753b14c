from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import forge

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from forge.prepare.onnx.identities import remove_identities  # noqa: E402


def test_a_chain_is_bypassed_and_an_output_stays(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("Identity", ["x"], ["a"]),
        helper.make_node("Identity", ["a"], ["b"]),
        helper.make_node("Sub", ["b", "a"], ["z"]),
        helper.make_node("Identity", ["b"], ["y"]),
    ]
    model = onnx_model(
        nodes, {"x": ((2,), "float32")}, {"y": (None, "float32"), "z": (None, "float32")}
    )
    assert remove_identities(model).count == 2
    assert [node.op_type for node in model.graph.node] == ["Sub", "Identity"]
    ours = forge.from_onnx(model).compile().run({"x": np.array([1, 2], "float32")})
    assert {name: value.tolist() for name, value in ours.items()} == {"y": [1, 2], "z": [0, 0]}


def test_branches_read_the_source(onnx_model: Callable[..., Any]) -> None:
    def branch(name: str, operator: str) -> Any:
        return helper.make_graph(
            [helper.make_node(operator, ["i"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])],
        )

    nodes = [
        helper.make_node("Identity", ["x"], ["i"]),
        helper.make_node(
            "If", ["c"], ["y"], then_branch=branch("t", "Abs"), else_branch=branch("e", "Neg")
        ),
    ]
    model = onnx_model(nodes, {"c": ((), "bool"), "x": ((2,), "float32")}, {"y": ((2,), "float32")})
    remove_identities(model)
    onnx.checker.check_model(model)
    executable = forge.from_onnx(model).compile()
    x = np.array([-1, 2], "float32")
    assert executable(np.array(True), x).tolist() == [1, 2]
    assert executable(np.array(False), x).tolist() == [1, -2]
