from collections.abc import Callable
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from forge.prepare.onnx.operators import standard_converters, unsupported_operators  # noqa: E402

X = {"x": ((2,), "float32")}
Y = {"y": ((2,), "float32")}


def chain(onnx_model: Callable[..., Any], *operators: tuple[str, str]) -> Any:
    """Unary nodes one after the other, each given as domain and name."""
    values = ["x", *(f"v{i}" for i in range(1, len(operators))), "y"]
    nodes = [
        helper.make_node(name, [values[i]], [values[i + 1]], domain=domain)
        for i, (domain, name) in enumerate(operators)
    ]
    domains = sorted({domain for domain, _ in operators} - {"", "ai.onnx"})
    return onnx_model(nodes, X, Y, domains=domains)


def test_the_converters_are_those_of_the_standard() -> None:
    converters = standard_converters()
    assert {"Relu", "Conv", "Constant", "If"} <= converters
    assert not converters & {"Attention", "BiasGelu", "SkipLayerNormalization", "NoSuchOperator"}


def test_all_are_named_once(onnx_model: Callable[..., Any]) -> None:
    names = [("", "Relu"), ("", "Foo"), ("my.custom", "Bar"), ("", "Foo"), ("ai.onnx", "Abs")]
    model = chain(onnx_model, *names)
    assert unsupported_operators(model, {"Relu", "Abs"}) == ("ai.onnx::Foo", "my.custom::Bar")


def test_another_domains_relu_is_not_the_standards(onnx_model: Callable[..., Any]) -> None:
    model = chain(onnx_model, ("my.custom", "Relu"), ("", "Relu"))
    assert unsupported_operators(model, {"Relu"}) == ("my.custom::Relu",)
    assert unsupported_operators(model, {"Relu"}, {"my.custom::Relu"}) == ()


def test_the_standards_attention_is_not_microsofts(onnx_model: Callable[..., Any]) -> None:
    model = chain(onnx_model, ("", "Attention"), ("com.microsoft", "Gelu"))
    assert unsupported_operators(model, standard_converters()) == ("ai.onnx::Attention",)
    model = chain(onnx_model, ("com.microsoft", "Attention"))
    assert unsupported_operators(model, standard_converters()) == ("com.microsoft::Attention",)


def test_branches_are_searched(onnx_model: Callable[..., Any]) -> None:
    def branch(name: str, operator: str) -> Any:
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [2])
        return helper.make_graph([helper.make_node(operator, ["x"], [name])], name, [], [output])

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "Abs"), else_branch=branch("e", "Foo")
    )
    model = onnx_model([node], {"c": ((), "bool"), **X}, Y)
    assert unsupported_operators(model, standard_converters()) == ("ai.onnx::Foo",)
