from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import forge

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402

from forge.prepare.onnx.constant_values import bind_known_values  # noqa: E402

BIG = 2**53 + 1


def folded(model: Any) -> dict[str, np.ndarray]:
    bind_known_values(model)
    return {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}


def binary(onnx_model: Callable[..., Any], name: str, a: Any, b: Any, dtype: str = "int64") -> Any:
    nodes = [helper.make_node(name, ["a", "b"], ["c"]), helper.make_node("Identity", ["c"], ["y"])]
    constants = {"a": np.array(a, dtype), "b": np.array(b, dtype)}
    return onnx_model(nodes, {}, {"y": (None, dtype)}, constants)


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("Add", [BIG, -BIG], [2, 0], [BIG + 2, -BIG]),
        ("Mul", [BIG], [3], [3 * BIG]),
        ("Div", [BIG, BIG], [1, -1], [BIG, -BIG]),  # apache/tvm 20281: off by one through float64
        ("Div", [7, -7, 7, -7], [2, 2, -2, -2], [3, -3, -3, 3]),
        ("Mod", [-7, 7], [3, -3], [2, -2]),
    ],
)
def test_integers_are_exact(
    name: str, a: Any, b: Any, expected: list[int], onnx_model: Callable[..., Any]
) -> None:
    value = folded(binary(onnx_model, name, a, b))["c"]
    assert value.dtype == np.int64
    assert value.tolist() == expected


def test_the_right_value_comes_out_of_the_loader(onnx_model: Callable[..., Any]) -> None:
    model = binary(onnx_model, "Div", [BIG, -7], [1, 2])
    ir = forge.from_onnx(model)
    assert ir.compile()().tolist() == [BIG, -3]


def test_integer_division_by_zero_stays_in_the_graph(onnx_model: Callable[..., Any]) -> None:
    model = binary(onnx_model, "Div", [1], [0])
    assert "c" not in folded(model)
    assert len(model.graph.node) == 2


def test_floats_keep_nan_infinity_and_sign(onnx_model: Callable[..., Any]) -> None:
    model = binary(onnx_model, "Div", [1, -1, 0, -0.0], [0, 0, 0, 5], "float32")
    value = folded(model)["c"]
    np.testing.assert_array_equal(value, np.array([np.inf, -np.inf, np.nan, -0.0], "float32"))
    assert np.signbit(value[3])


def test_comparisons_are_bool(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("Less", ["a", "b"], ["c"]),
        helper.make_node("Where", ["c", "x", "b"], ["y"]),
    ]
    constants = {"a": np.array([1, 5], "int64"), "b": np.array([3, 3], "int64")}
    model = onnx_model(nodes, {"x": ((2,), "int64")}, {"y": (None, "int64")}, constants)
    assert folded(model)["c"].dtype == np.bool_  # apache/tvm 20282
    assert forge.from_onnx(model).compile()(np.array([9, 9])).tolist() == [9, 3]


class TestShapeArithmetic:
    """The guide of exporters: Shape → Gather → Concat → Reshape."""

    @pytest.fixture
    def model(self, onnx_model: Callable[..., Any]) -> Any:
        nodes = [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("Gather", ["s", "last"], ["d"], axis=0),
            helper.make_node("Div", ["d", "two"], ["half"]),
            helper.make_node("Concat", ["minus", "half"], ["target"], axis=0),
            helper.make_node("Reshape", ["x", "target"], ["y"]),
        ]
        constants = {
            "last": np.array([-1]),
            "two": np.array([2]),
            "minus": np.array([-1]),
        }
        return onnx_model(nodes, {"x": (("N", 6), "float32")}, {"y": (None, "float32")}, constants)

    def test_a_static_dimension_beside_an_open_one_is_known(self, model: Any) -> None:
        assert folded(model)["target"].tolist() == [-1, 3]
        assert [node.op_type for node in model.graph.node] == ["Reshape"]

    def test_an_open_dimension_stays(self, model: Any) -> None:
        model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([0]), "last"))
        assert "target" not in folded(model)

    def test_it_loads_and_is_right(self, model: Any) -> None:
        x = np.arange(12, dtype="float32").reshape(2, 6)
        np.testing.assert_array_equal(forge.from_onnx(model).compile()(x), x.reshape(-1, 3))


def test_shape_with_start_and_end(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"], start=-2, end=3),
        helper.make_node("Identity", ["s"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (("N", 3, 5, 7), "float32")}, {"y": (None, "int64")})
    assert folded(model)["s"].tolist() == [5]


def test_huge_values_are_not_made(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["big"]),
        helper.make_node("ReduceSum", ["big"], ["y"], keepdims=0),
    ]
    model = onnx_model(nodes, {}, {"y": (None, "float32")}, {"size": np.array([10**6, 10**4])})
    assert "big" not in folded(model)


def test_random_operators_are_not_folded(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("RandomNormalLike", ["a"], ["r"]),
        helper.make_node("Identity", ["r"], ["y"]),
    ]
    model = onnx_model(nodes, {}, {"y": (None, "float32")}, {"a": np.zeros(3, "float32")})
    assert "r" not in folded(model)


def test_values_that_are_outputs_stay_outputs(onnx_model: Callable[..., Any]) -> None:
    nodes = [helper.make_node("Add", ["a", "a"], ["y"])]
    model = onnx_model(nodes, {}, {"y": (None, "float32")}, {"a": np.ones(2, "float32")})
    bind_known_values(model)
    assert [node.op_type for node in model.graph.node] == ["Add"]
    assert forge.from_onnx(model).compile()().tolist() == [2, 2]
