from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from forge import RunError
from validation.references.arbiters import arbiters_of
from validation.references.arbiters.onnx_cost import LIMIT_SECONDS, check_cost, estimate

F = TensorProto.FLOAT


def conv(channels: int, size: Any, **attributes: Any) -> Any:
    group = attributes.get("group", 1)
    weights = np.zeros((channels, channels // group, 3, 3), np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], pads=[1, 1, 1, 1], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", F, [1, channels, size, size])],
        [helper.make_tensor_value_info("y", F, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def single(operator: str, shape: list[int], **attributes: Any) -> Any:
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("x", F, shape)],
        [helper.make_tensor_value_info("y", F, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_a_convolution_costs_its_multiplications() -> None:
    multiplications = 64 * 64 * 9 * 56 * 56
    assert estimate(conv(64, 56), {}) == pytest.approx(1e-9 * multiplications)


def test_groups_cost_more_for_each() -> None:
    assert estimate(conv(64, 56, group=64), {}) == pytest.approx(40e-9 * 64 * 9 * 56 * 56)


def test_python_loops_cost_much_more() -> None:
    pooled = single("AveragePool", [1, 8, 32, 32], kernel_shape=[2, 2], strides=[2, 2])
    assert estimate(pooled, {}) > 100 * estimate(single("Relu", [1, 8, 32, 32]), {})


def test_shapes_that_the_caller_gives_count() -> None:
    model = conv(64, "size")
    small = estimate(model, {})
    assert estimate(model, {"x": (1, 64, 56, 56)}) == pytest.approx(small * 56 * 56)


def test_a_large_model_is_refused_at_start() -> None:
    model = conv(512, 512)
    assert estimate(model, {}) > LIMIT_SECONDS
    with pytest.raises(RunError, match="too large"):
        check_cost(model, {})
    runtime, *others = arbiters_of("onnx", model, {}, 1)
    runtime.start()
    for arbiter in others:
        with pytest.raises(RunError, match=r"too large .* limit is 60 s"):
            arbiter.start()


def test_open_dimensions_are_refused_by_options_or_at_the_call() -> None:
    model = conv(256, "size")
    _, evaluator, _ = arbiters_of("onnx", model, {"shape_dict": {"x": (1, 256, 999, 999)}}, 1)
    with pytest.raises(RunError, match="too large"):
        evaluator.start()
    session = arbiters_of("onnx", model, {}, 1)[1].start()
    assert session({"x": np.zeros((1, 256, 2, 2), np.float32)})["y"].shape == (1, 256, 2, 2)
    with pytest.raises(RunError, match="too large"):
        session({"x": np.zeros((1, 256, 400, 400), np.float32)})
