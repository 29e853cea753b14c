from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import forge

onnx = pytest.importorskip("onnx")
from onnx import helper  # noqa: E402


def test_branches_join_and_pieces_share_constants(onnx_model: Callable[..., Any]) -> None:
    """Two custom operators side by side, a value that skips a piece, and two outputs of one."""
    from tvm import relax

    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Split2", ["a"], ["left", "right"], domain="far"),
        helper.make_node("Twice", ["x"], ["b"], domain="far"),
        helper.make_node("Sub", ["left", "b0"], ["c"]),
        helper.make_node("Slice", ["b", "zero", "two", "zero"], ["b0"]),
        helper.make_node("Mul", ["c", "w2"], ["d"]),
        helper.make_node("Add", ["d", "right"], ["y"]),
    ]
    nodes[3], nodes[4] = nodes[4], nodes[3]
    constants = {
        "w": np.array([2, 2, 3, 3], "float32"),
        "w2": np.array([10, 10], "float32"),
        "zero": np.array([0]),
        "two": np.array([2]),
    }
    model = onnx_model(
        nodes,
        {"x": ((4,), "float32")},
        {"y": (None, "float32"), "a": (None, "float32")},
        constants,
        domains=["far"],
    )

    def split(builder: Any, inputs: Any, attributes: Any) -> Any:
        parts = builder.emit(relax.op.split(inputs[0], 2))
        return relax.TupleGetItem(parts, 0), relax.TupleGetItem(parts, 1)

    def twice(builder: Any, inputs: Any, attributes: Any) -> Any:
        return relax.op.add(inputs[0], inputs[0])

    ir = forge.from_onnx(model, custom_ops={"far::Split2": split, "far::Twice": twice})
    x = np.array([1, 2, 3, 4], "float32")
    ours = ir.compile().run({"x": x})
    a = x * constants["w"]
    np.testing.assert_array_equal(ours["a"], a)
    np.testing.assert_array_equal(ours["y"], (a[:2] - 2 * x[:2]) * 10 + a[2:])


def test_custom_operator_at_both_ends(onnx_model: Callable[..., Any]) -> None:
    from tvm import relax

    model = onnx_model(
        [helper.make_node("Half", ["x"], ["y"], domain="far", by=0.5)],
        {"x": (("N", "M"), "float32")},
        {"y": (None, "float32")},
        domains=["far"],
    )

    def half(builder: Any, inputs: Any, attributes: Any) -> Any:
        return relax.op.multiply(inputs[0], relax.const(attributes["by"], "float32"))

    executable = forge.from_onnx(model, custom_ops={"far::Half": half}).compile()
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(executable(x), x / 2)
