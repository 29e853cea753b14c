"""Small ONNX models on which some version of ONNX Runtime is wrong, with their right values.

The right values are computed here with numpy, in float64 and from the operators' definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class WrongReference:
    """One such model.

    Attributes:
        name: A short id.
        link: Where it is reported, or what it is where nobody has reported it.
        model: An ``onnx.ModelProto``.
        inputs: By name.
        expected: The right outputs by name: float64, or the model's own dtype where it is exact.
        fault: What ONNX Runtime 1.32 does with its default optimisations: ``none`` (an older one
            was wrong), ``refuses``, ``values``, ``shape``, or ``cpu`` where it depends on the CPU.
    """

    name: str
    link: str
    model: Any
    inputs: Mapping[str, np.ndarray]
    expected: Mapping[str, np.ndarray]
    fault: str


def all_wrong_references() -> tuple[WrongReference, ...]:
    """Build them all."""
    return (
        identity_transpose(3),
        identity_transpose(4),
        identity_transpose_into_gemm(3),
        identity_transpose_into_gemm(4),
        identity_transpose_of_weights(5),
        identity_transpose_of_weights(4),
        same_dtype_cast(),
        integer_reciprocal(),
        reciprocal_of_rank_two(),
        fourth_power_norm(),
        norm_without_kept_axis(),
        saturated_products(),
    )


def identity_transpose(rows: int) -> WrongReference:
    """Transpose(perm=[0, 1]) → MatMul → Add; silent where x is square, with 4 rows."""
    x, w, b = _normal(rows, 4), _normal(4, 5), _normal(5)
    nodes = [
        _node("Transpose", ["x"], "t", perm=[0, 1]),
        _node("MatMul", ["t", "w"], "p"),
        _node("Add", ["p", "b"], "y"),
    ]
    return WrongReference(
        f"identity-transpose-{rows}",
        "https://github.com/microsoft/onnxruntime/issues/32228",
        _model(nodes, {"x": x}, {"y": (np.float32, (rows, 5))}, {"w": w, "b": b}),
        {"x": x},
        {"y": _wide(x) @ _wide(w) + b},
        "none",
    )


def identity_transpose_into_gemm(rows: int) -> WrongReference:
    """Transpose(perm=[0, 1]) of Gemm's first input; silent with 4 rows."""
    x, w, b = _normal(rows, 4), _normal(4, 5), _normal(5)
    nodes = [
        _node("Transpose", ["x"], "t", perm=[0, 1]),
        _node("Gemm", ["t", "w", "b"], "y"),
    ]
    return WrongReference(
        f"identity-transpose-into-gemm-{rows}",
        "https://github.com/microsoft/onnxruntime/issues/32417",
        _model(nodes, {"x": x}, {"y": (np.float32, (rows, 5))}, {"w": w, "b": b}),
        {"x": x},
        {"y": _wide(x) @ _wide(w) + b},
        "none",
    )


def identity_transpose_of_weights(columns: int) -> WrongReference:
    """Transpose(perm=[0, 1]) of Gemm's second input; silent with 4 columns."""
    x, w, b = _normal(3, 4), _normal(4, columns), _normal(columns)
    nodes = [
        _node("Transpose", ["w"], "t", perm=[0, 1]),
        _node("Gemm", ["x", "t", "b"], "y"),
    ]
    return WrongReference(
        f"identity-transpose-of-weights-{columns}",
        "https://github.com/microsoft/onnxruntime/issues/32418",
        _model(nodes, {"x": x, "w": w}, {"y": (np.float32, (3, columns))}, {"b": b}),
        {"x": x, "w": w},
        {"y": _wide(x) @ _wide(w) + b},
        "none",
    )


def same_dtype_cast() -> WrongReference:
    """Cast to its own dtype, times a one that folding finds: the optimised graph is invalid."""
    x = _normal(3, 4)
    nodes = [
        _node("Cast", ["x"], "mid", to=1),
        _node("Div", ["one", "other_one"], "folded"),
        _node("Mul", ["mid", "folded"], "product"),
        _node("Add", ["product", "zero"], "y"),
    ]
    constants = {"one": _scalar(1), "other_one": _scalar(1), "zero": _scalar(0)}
    return WrongReference(
        "same-dtype-cast",
        "https://github.com/microsoft/onnxruntime/issues/32416",
        _model(nodes, {"x": x}, {"y": (np.float32, (3, 4))}, constants),
        {"x": x},
        {"y": x},
        "refuses",
    )


def integer_reciprocal() -> WrongReference:
    """(1 / x) * z of integers becomes z / x: 0 * 6 becomes 2."""
    x, z = np.array([3, 2, 7, 1, -1]), np.array([6, 7, 8, -9, 5])
    nodes = [_node("Div", ["one", "x"], "d"), _node("Mul", ["d", "z"], "y")]
    return WrongReference(
        "integer-reciprocal",
        "DivMulFusion takes integers too; not reported by December 2026",
        _model(nodes, {"x": x, "z": z}, {"y": (np.int64, (5,))}, {"one": np.array(1)}),
        {"x": x, "z": z},
        {"y": np.array([0, 0, 0, -9, -5])},
        "values",
    )


def reciprocal_of_rank_two() -> WrongReference:
    """(1 / x) * z with a 1 of shape [1, 1] becomes z / x, which has an axis less."""
    x, z = np.abs(_normal(5)) + np.float32(1), _normal(5)
    nodes = [_node("Div", ["one", "x"], "d"), _node("Mul", ["d", "z"], "y")]
    constants = {"one": np.ones((1, 1), np.float32)}
    return WrongReference(
        "reciprocal-of-rank-two",
        "DivMulFusion forgets the shape of its one; not reported by December 2026",
        _model(nodes, {"x": x, "z": z}, {"y": (np.float32, (1, 5))}, constants),
        {"x": x, "z": z},
        {"y": (_wide(z) / _wide(x)).reshape(1, 5)},
        "shape",
    )


def fourth_power_norm() -> WrongReference:
    """A layer norm with a fourth power for the square becomes LayerNormalization."""
    x = _normal(2, 3, 8)
    scale, bias = _normal(8), _normal(8)
    centred = _wide(x) - _wide(x).mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred**4).mean(axis=-1, keepdims=True) + np.float32(1e-5))
    return WrongReference(
        "fourth-power-norm",
        "LayerNormFusion does not read the exponent; not reported by December 2026",
        _norm(x, scale, bias, exponent=4, axis=-1, keepdims=1),
        {"x": x},
        {"y": centred / spread * scale + bias},
        "values",
    )


def norm_without_kept_axis() -> WrongReference:
    """What looks like a layer norm, but its means have lost their axis, and meet the last one."""
    x = _normal(4, 4)
    scale, bias = _normal(4), _normal(4)
    centred = _wide(x) - _wide(x).mean(axis=-1)
    spread = np.sqrt((centred**2).mean(axis=-1) + np.float32(1e-5))
    return WrongReference(
        "norm-without-kept-axis",
        "https://github.com/microsoft/onnxruntime/issues/30513",
        _norm(x, scale, bias, exponent=2, axis=-1, keepdims=0),
        {"x": x},
        {"y": centred / spread * scale + bias},
        "values",
    )


def saturated_products() -> WrongReference:
    """Pairs of u8 × s8 products leave int16, in which CPUs without VNNI add them up.

    ONNX Runtime's own kernel saturates, with or without optimisations.
    """
    x = np.full((2, 16), 255, np.uint8)
    w = np.full((16, 3), 127, np.int8)
    nodes = [_node("MatMulInteger", ["x", "w"], "y")]
    return WrongReference(
        "saturated-products",
        "measured with ONNX Runtime 1.32 on a CPU with AVX2 and without VNNI",
        _model(nodes, {"x": x}, {"y": (np.int32, (2, 3))}, {"w": w}),
        {"x": x},
        {"y": x.astype(np.int32) @ w.astype(np.int32)},
        "cpu",
    )


def _norm(
    x: np.ndarray, scale: np.ndarray, bias: np.ndarray, exponent: int, axis: int, keepdims: int
) -> Any:
    nodes = [
        _node("ReduceMean", ["x"], "mean", axes=[axis], keepdims=keepdims),
        _node("Sub", ["x", "mean"], "centred"),
        _node("Pow", ["centred", "exponent"], "power"),
        _node("ReduceMean", ["power"], "variance", axes=[axis], keepdims=keepdims),
        _node("Add", ["variance", "epsilon"], "shifted"),
        _node("Sqrt", ["shifted"], "spread"),
        _node("Div", ["centred", "spread"], "normal"),
        _node("Mul", ["normal", "scale"], "scaled"),
        _node("Add", ["scaled", "bias"], "y"),
    ]
    constants = {"exponent": _scalar(exponent), "epsilon": _scalar(1e-5)}
    return _model(
        nodes,
        {"x": x},
        {"y": (np.float32, x.shape)},
        {**constants, "scale": scale, "bias": bias},
    )


def _node(operator: str, inputs: Sequence[str], output: str, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(operator, inputs, [output], **attributes)


def _model(
    nodes: Sequence[Any],
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, tuple[Any, tuple[int, ...]]],
    constants: Mapping[str, np.ndarray],
) -> Any:
    from onnx import checker, helper, numpy_helper

    declare: Callable[..., Any] = helper.make_tensor_value_info
    dtype: Callable[..., int] = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        nodes,
        "wrong",
        [declare(name, dtype(array.dtype), array.shape) for name, array in inputs.items()],
        [declare(name, dtype(np.dtype(kind)), shape) for name, (kind, shape) in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model, full_check=True)
    return model


def _normal(*shape: int) -> np.ndarray:
    generator = np.random.default_rng(sum(shape))
    return generator.standard_normal(shape).astype(np.float32)


def _scalar(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64)
