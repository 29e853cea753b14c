from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

from forge import InvalidInput, RunError, UnsupportedOperator
from validation.references.arbiters import arbiters_of, onnx_evaluator
from validation.references.arbiters.onnx_evaluator import evaluator_session

F = TensorProto.FLOAT


def function(name: str, nodes: list[Any], opset: int = 11) -> Any:
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_function("mine", name, ["a"], ["b"], nodes, opsets)


def calling(functions: list[Any], domain: str = "") -> Any:
    graph = helper.make_graph(
        [
            helper.make_node("Outer", ["x"], ["t"], domain="mine"),
            helper.make_node("Neg", ["t"], ["y"], domain=domain),
        ],
        "g",
        [helper.make_tensor_value_info("x", F, [2, 3, 4])],
        [helper.make_tensor_value_info("y", F, [2, 3, 4])],
    )
    opsets = [helper.make_opsetid(domain, 11), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)


def test_functions_may_call_each_other_in_any_order(agree: Callable[..., Any]) -> None:
    """The evaluator wants callers last; inside, Softmax is that of opset 11 and mended."""
    outer = function("Outer", [helper.make_node("Inner", ["a"], ["b"], domain="mine")])
    inner = function("Inner", [helper.make_node("Softmax", ["a"], ["b"], axis=1)])
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    for functions in ([outer, inner], [inner, outer]):
        agree("onnx", calling(functions), {}, {"x": x})


def test_the_default_domain_has_two_names(agree: Callable[..., Any]) -> None:
    outer = function("Outer", [helper.make_node("Abs", ["a"], ["b"])])
    x = np.ones((2, 3, 4), np.float32)
    agree("onnx", calling([outer], domain="ai.onnx"), {}, {"x": x})


def test_all_faulty_operators_are_named_at_once() -> None:
    outer = function(
        "Outer",
        [
            helper.make_node("LpNormalization", ["a"], ["n"], p=1),
            helper.make_node("RandomNormalLike", ["n"], ["b"]),
        ],
    )
    for arbiter in arbiters_of("onnx", calling([outer]), {}, 1)[1:]:
        with pytest.raises(
            UnsupportedOperator, match=r"LpNormalization.*RandomNormalLike"
        ) as error:
            arbiter.start()
        names = ("ai.onnx::LpNormalization", "ai.onnx::RandomNormalLike")
        assert error.value.operators == names


def test_sparse_weights_are_refused() -> None:
    model = calling([function("Outer", [helper.make_node("Abs", ["a"], ["b"])])])
    values = numpy_helper.from_array(np.array([1], np.float32), "s")
    indices = numpy_helper.from_array(np.array([1]), "i")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [3]))
    with pytest.raises(InvalidInput, match="sparse"):
        arbiters_of("onnx", model, {}, 1)[1].start()


def test_a_loop_is_ended_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """How often a body runs is not known before: the clock ends it."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["c"], ["c2"]),
            helper.make_node("Add", ["v", "v"], ["v2"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", F, [2]),
        ],
        [
            helper.make_tensor_value_info("c2", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v2", F, [2]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "go", "x"], ["y"], body=body)],
        "g",
        [helper.make_tensor_value_info("x", F, [2])],
        [helper.make_tensor_value_info("y", F, [2])],
        [
            numpy_helper.from_array(np.array(1 << 40), "n"),
            numpy_helper.from_array(np.array(True), "go"),
        ],
    )
    model = ModelProto()
    opsets = [helper.make_opsetid("", 17)]
    model.CopyFrom(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    monkeypatch.setattr(onnx_evaluator, "_DEADLINE_SECONDS", 0.05)
    session = evaluator_session(model, {}, ["y"], float64=False)
    with pytest.raises(RunError, match="no further than"):
        session({"x": np.ones(2, np.float32)})
