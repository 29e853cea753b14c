"""The mended operators against ONNX Runtime without optimisations, and in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

from validation.references.arbiters import arbiters_of

generator = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


def uint8(*shape: int) -> np.ndarray:
    return generator.integers(0, 256, shape, dtype=np.uint8)


def check(
    operator: str, arrays: Sequence[np.ndarray], opset: int, outputs: int = 1, **attributes: Any
) -> None:
    """Compare a single operator's results; float32 sums of a few products differ by 1e-6."""
    feeds = {f"x{index}": np.asarray(array) for index, array in enumerate(arrays)}
    names = [f"y{index}" for index in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, list(feeds), names, **attributes)],
        "single",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape
            )
            for name, array in feeds.items()
        ],
        [helper.make_empty_tensor_value_info(name) for name in names],
    )
    ir_version = 8 if opset < 19 else 10
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )
    runtime, evaluator, double = (each.start() for each in arbiters_of("onnx", model, {}, 1))
    expected = runtime(feeds)
    for session in (evaluator, double):
        for name, array in session(feeds).items():
            wanted = expected[name]
            np.testing.assert_allclose(array, wanted, rtol=1e-5, atol=1e-5)
            assert array.shape == wanted.shape
            if session is evaluator:
                assert array.dtype == wanted.dtype


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 4), (2, 3, 4, 5), (2, 3, 2, 2, 2)], ids=str)
@pytest.mark.parametrize("opset", [7, 9, 13, 15])
def test_batch_normalization(opset: int, shape: tuple[int, ...]) -> None:
    statistics = [normal(3), normal(3), normal(3), np.abs(normal(3)) + np.float32(0.1)]
    check("BatchNormalization", [normal(*shape), *statistics], opset, epsilon=1e-3)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize(
    ("opset", "axis"),
    [
        (opset, axis)
        for opset in (9, 12, 13)
        # Negative axes came with opset 11.
        for axis in (None, 0, 1, 2, *((-1, -2) if opset > 10 else ()))
    ],
)
def test_functions_of_rows(operator: str, opset: int, axis: int | None) -> None:
    check(operator, [normal(2, 3, 4)], opset, **({} if axis is None else {"axis": axis}))


@pytest.mark.parametrize("shape", [(2, 5, 3, 4), (5, 2, 3, 4), (1, 8, 2, 2)], ids=str)
@pytest.mark.parametrize("size", [1, 3, 5])
def test_lrn(shape: tuple[int, ...], size: int) -> None:
    check("LRN", [normal(*shape)], 13, size=size, alpha=0.1, beta=0.7, bias=1.5)


@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 5, 4), (2, 3, 5, 2, 2)], ids=str)
def test_global_max_pool(shape: tuple[int, ...]) -> None:
    check("GlobalMaxPool", [normal(*shape)], 17)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_elements_over_more_than_64(axis: int) -> None:
    shape = [70, 6]
    indices = generator.integers(-shape[axis], shape[axis], (5, 4))
    check("GatherElements", [normal(*shape), indices], 17, axis=axis)


@pytest.mark.parametrize("kernel", [(3, 2), (3, 3), (2, 2)], ids=str)
@pytest.mark.parametrize(
    ("since", "attributes"),
    [
        (7, {}),
        (7, {"pads": [1, 0, 1, 1]}),
        (7, {"pads": [0, 1, 0, 1], "strides": [2, 3]}),
        (10, {"strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1}),
        (10, {"strides": [2, 3], "ceil_mode": 1}),
        (7, {"strides": [2, 2], "auto_pad": "SAME_UPPER"}),
        (7, {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),
        (7, {"strides": [1, 2], "auto_pad": "VALID"}),
        (10, {"dilations": [2, 1], "pads": [1, 1, 0, 1]}),
    ],
    ids=str,
)
def test_max_pool(since: int, kernel: tuple[int, int], attributes: dict[str, Any]) -> None:
    """Check the oldest version that has these attributes, and newer ones."""
    for opset in (since, 12, 22):
        check("MaxPool", [normal(2, 3, 9, 8)], opset, kernel_shape=kernel, **attributes)


def test_max_pool_of_other_ranks_and_integers() -> None:
    check("MaxPool", [normal(2, 3, 9)], 17, kernel_shape=[3], strides=[2], pads=[1, 0])
    check("MaxPool", [normal(2, 3, 6, 7, 5)], 17, kernel_shape=[3, 2, 2], pads=[1, 0, 1, 0, 1, 0])
    check("MaxPool", [uint8(1, 2, 6, 7)], 17, kernel_shape=[2, 3], pads=[1, 1, 0, 1])


@pytest.mark.parametrize("opset", [10, 13, 21])
def test_dequantize_linear(opset: int) -> None:
    check("DequantizeLinear", [uint8(3, 4), np.float32(0.3), np.uint8(9)], opset)
    if opset > 10:
        scales, zeros = np.abs(normal(3)), np.array([1, 2, 3], np.uint8)
        check("DequantizeLinear", [uint8(3, 4), scales, zeros], opset, axis=0)
        check("DequantizeLinear", [uint8(4, 3), scales, zeros], opset, axis=-1)


def test_dynamic_quantize_linear() -> None:
    for array in (normal(3, 4), np.abs(normal(3, 4)), -np.abs(normal(3, 4)), normal(2) * 0):
        check("DynamicQuantizeLinear", [array], 11, outputs=3)


def test_erf_is_float64() -> None:
    graph = helper.make_graph(
        [helper.make_node("Erf", ["x"], ["y"])],
        "erf",
        [helper.make_tensor_value_info("x", 1, [3])],
        [helper.make_tensor_value_info("y", 1, [3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    double = arbiters_of("onnx", model, {}, 1)[2].start()
    # The value at 0.5, to the digits that the error function's tables give.
    result = double({"x": np.array([0.5, 0, -0.5])})["y"]
    np.testing.assert_allclose(
        result, [0.5204998778130465, 0, -0.5204998778130465], rtol=1e-15, atol=0
    )


def test_large_integers_are_dequantised_in_float64() -> None:
    graph = helper.make_graph(
        [helper.make_node("DequantizeLinear", ["x", "s"], ["y"])],
        "dequantise",
        [helper.make_tensor_value_info("x", 6, [2]), helper.make_tensor_value_info("s", 1, [])],
        [helper.make_tensor_value_info("y", 1, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    double = arbiters_of("onnx", model, {}, 1)[2].start()
    steps = np.array([(1 << 24) + 1, -(1 << 30) - 1], np.int32)
    result = double({"x": steps, "s": np.float32(0.5)})["y"]
    np.testing.assert_array_equal(result, steps * 0.5)
