from collections.abc import Callable
from typing import Any

import pytest

from forge import InvalidInput

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

from forge.prepare.onnx.functions import (  # noqa: E402
    add_user_functions,
    expand_schema_functions,
    inline_local_functions,
    split_operator_name,
)

X = {"x": ((2,), "float32")}
Y = {"y": ((2,), "float32")}


def function(domain: str, name: str, *operators: str) -> Any:
    """A function that applies unary operators one after the other."""
    values = ["a", *(f"v{i}" for i in range(1, len(operators))), "b"]
    nodes = [helper.make_node(op, [values[i]], [values[i + 1]]) for i, op in enumerate(operators)]
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_function(domain, name, ["a"], ["b"], nodes, opsets)


def called(onnx_model: Callable[..., Any], *functions: Any) -> Any:
    node = helper.make_node("Twice", ["x"], ["y"], domain="my.custom")
    return onnx_model([node], X, Y, domains=["my.custom"], functions=functions)


def operators(model: Any) -> list[str]:
    return [node.op_type for node in model.graph.node]


def test_local_functions_are_inlined(onnx_model: Callable[..., Any]) -> None:
    model = called(onnx_model, function("my.custom", "Twice", "Abs", "Neg"))
    model, step = inline_local_functions(model)
    assert operators(model) == ["Abs", "Neg"]
    assert step.count == 1
    assert not model.functions
    onnx.checker.check_model(model)


def test_a_model_without_functions_is_left_alone(onnx_model: Callable[..., Any]) -> None:
    model = onnx_model([helper.make_node("Abs", ["x"], ["y"])], X, Y)
    same, step = inline_local_functions(model)
    assert same is model
    assert step.count == 0


def test_a_user_function_wins_over_the_models_own(onnx_model: Callable[..., Any]) -> None:
    model = called(onnx_model, function("my.custom", "Twice", "Abs"))
    given = function("elsewhere", "Other", "Neg", "Exp")
    add_user_functions(model, {"my.custom::Twice": given})
    assert [(f.domain, f.name) for f in model.functions] == [("my.custom", "Twice")]
    assert (given.domain, given.name) == ("elsewhere", "Other")
    assert operators(inline_local_functions(model)[0]) == ["Neg", "Exp"]


def test_a_user_functions_domain_is_imported(onnx_model: Callable[..., Any]) -> None:
    model = onnx_model([helper.make_node("Abs", ["x"], ["y"])], X, Y)
    add_user_functions(model, {"new.domain::F": function("new.domain", "F", "Neg")})
    assert {entry.domain: entry.version for entry in model.opset_import} == {
        "": 17,
        "new.domain": 1,
    }


@pytest.mark.parametrize("key", ["Relu", "::Relu", "domain::", "domain:Relu", ""])
def test_a_name_without_domain_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="custom_ops"):
        split_operator_name(key)


def test_a_name_is_split() -> None:
    assert split_operator_name("my.custom::Relu") == ("my.custom", "Relu")
    assert split_operator_name("ai.onnx::Relu") == ("", "Relu")


def test_only_operators_without_converter_are_expanded(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("HardSwish", ["x"], ["a"]),
        helper.make_node("Softsign", ["a"], ["b"]),
        helper.make_node("Relu", ["b"], ["y"]),
    ]
    model, step = expand_schema_functions(onnx_model(nodes, X, Y), {"Softsign", "Relu"}, 17)
    assert step.count == 1
    assert step.details == ("HardSwish",)
    assert "HardSwish" not in operators(model)
    assert operators(model)[-2:] == ["Softsign", "Relu"]
    onnx.checker.check_model(model)
