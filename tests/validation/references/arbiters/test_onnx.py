from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from forge import UnsupportedOperator
from validation.references import framework_named
from validation.references.arbiters import arbiters_of, float64_run

RUNTIME, EVALUATOR, DOUBLE = range(3)
generator = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


WEIGHTS = {
    "kernel": normal(5, 3, 3, 2),
    "scale": normal(5),
    "shift": normal(5),
    "mean": normal(5),
    "variance": np.abs(normal(5)) + np.float32(0.5),
    "dense": normal(5, 4),
}


def network(opset: int) -> Any:
    """Make Conv → BatchNormalization → Relu → mean → MatMul − other, and an output of integers."""
    nodes = [
        helper.make_node("Conv", ["image", "kernel"], ["c"], strides=[2, 1], pads=[1, 0, 0, 1]),
        helper.make_node("BatchNormalization", ["c", "scale", "shift", "mean", "variance"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("MatMul", ["f", "dense"], ["d"]),
        helper.make_node("Sub", ["d", "other"], ["difference"]),
        helper.make_node("Add", ["count", "count"], ["twice"]),
    ]
    graph = helper.make_graph(
        nodes,
        "network",
        [
            helper.make_tensor_value_info("other", TensorProto.FLOAT, ["N", 4]),
            helper.make_tensor_value_info("count", TensorProto.INT64, [3]),
            helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 9, 7]),
        ],
        [
            helper.make_tensor_value_info("twice", TensorProto.INT64, [3]),
            helper.make_tensor_value_info("difference", TensorProto.FLOAT, ["N", 4]),
        ],
        [numpy_helper.from_array(array, name) for name, array in WEIGHTS.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def inputs() -> dict[str, np.ndarray]:
    return {
        "image": normal(2, 3, 9, 7),
        "count": np.array([1 << 54, -3, 7]) + 1,
        "other": normal(2, 4),
    }


def in_float64(arrays: dict[str, np.ndarray]) -> np.ndarray:
    w = {name: array.astype(np.float64) for name, array in WEIGHTS.items()}
    x = np.pad(arrays["image"].astype(np.float64), [(0, 0), (0, 0), (1, 0), (0, 1)])
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))[:, :, ::2]
    c = np.einsum("nchwij,ocij->nohw", windows, w["kernel"])
    each = {name: w[name][:, None, None] for name in ("scale", "shift", "mean", "variance")}
    spread = np.sqrt(each["variance"] + np.float64(np.float32(1e-5)))
    n = (c - each["mean"]) / spread * each["scale"] + each["shift"]
    result: np.ndarray = np.maximum(n, 0).mean((2, 3)) @ w["dense"] - arrays["other"]
    return result


# Before opset 14 onnx's own evaluator takes the statistics of the batch.
@pytest.mark.parametrize("opset", [9, 13, 17])
def test_all_agree_with_the_reference(opset: int, agree: Callable[..., Any]) -> None:
    agree("onnx", network(opset), {}, inputs())


@pytest.mark.parametrize("opset", [9, 17])
def test_the_float64_run_is_float64(opset: int, is_float64: Callable[..., None]) -> None:
    arrays = inputs()
    arbiter = float64_run("onnx", network(opset), {}, 1).arbiter
    assert arbiter is not None
    result = arbiter.start()(arrays)
    is_float64(result["difference"], in_float64(arrays))
    np.testing.assert_array_equal(result["twice"], arrays["count"] * 2)


def test_the_model_stays_as_it_was() -> None:
    model = network(17)
    before = model.SerializeToString()
    for arbiter in arbiters_of("onnx", model, {"shape_dict": {"image": (2, 3, 9, 7)}}, 1):
        arbiter.start()(inputs())
    assert model.SerializeToString() == before


def test_functions_for_custom_operators_are_used(
    agree: Callable[..., Any], is_float64: Callable[..., None]
) -> None:
    graph = helper.make_graph(
        [helper.make_node("Scaled", ["x"], ["y"], domain="mine")],
        "custom",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)],
        ir_version=8,
    )
    function = helper.make_function(
        "elsewhere",
        "Other",
        ["a"],
        ["c"],
        [
            helper.make_node("Constant", [], ["b"], value_float=0.1),
            helper.make_node("Mul", ["a", "b"], ["c"]),
        ],
        [helper.make_opsetid("", 17)],
    )
    options = {"custom_ops": {"mine::Scaled": function}}
    x = normal(2, 3)
    results = agree("onnx", model, options, {"x": x})
    double = results["onnx's ReferenceEvaluator in float64"]["y"]
    is_float64(double, x * np.float64(np.float32(0.1)))


def test_contrib_operators_are_refused_by_name() -> None:
    graph = helper.make_graph(
        [helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")],
        "contrib",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    arbiters = arbiters_of("onnx", model, {}, 1)
    assert arbiters[RUNTIME].start()({"x": normal(2, 3)})["y"].shape == (2, 3)
    for which in (EVALUATOR, DOUBLE):
        with pytest.raises(UnsupportedOperator, match=r"com\.microsoft::Gelu") as caught:
            arbiters[which].start()
        assert caught.value.operators == ("com.microsoft::Gelu",)


def error(arrays: Any, expected: Any) -> float:
    """Measure the largest error; infinite where a shape is wrong."""
    worst = 0.0
    for name, right in expected.items():
        if arrays[name].shape != right.shape:
            return float("inf")
        worst = max(worst, float(np.abs(arrays[name].astype(np.float64) - right).max()))
    return worst


def test_arbiters_are_right_where_onnx_runtime_is_or_was_wrong(
    wrong_references: ModuleType,
) -> None:
    """Sums of at most 16 products of normal numbers: float32 errors stay below 1e-5."""
    for case in wrong_references.all_wrong_references():
        arbiters = arbiters_of("onnx", case.model, {}, 1)
        # Without optimisations the kernels are the same, and their faults too.
        asked = arbiters[EVALUATOR:] if case.fault == "cpu" else arbiters
        for arbiter in asked:
            result = arbiter.start()(case.inputs)
            limit = 1e-12 if arbiter.float64 else 1e-5
            assert error(result, case.expected) < limit, (case.name, arbiter.name)


def test_the_wrong_references_of_onnx_runtime_1_32_are_still_wrong(
    wrong_references: ModuleType,
) -> None:
    runtime = pytest.importorskip("onnxruntime")
    if not runtime.__version__.startswith("1.32."):
        pytest.skip(f"measured with ONNX Runtime 1.32, this is {runtime.__version__}")
    framework = framework_named("onnx")
    for case in wrong_references.all_wrong_references():
        if case.fault == "refuses":
            with pytest.raises(Exception, match="Invalid model"):
                framework.session(case.model, {}, 1)
            continue
        found = error(framework.session(case.model, {}, 1)(case.inputs), case.expected)
        if case.fault == "none":
            assert found < 1e-5, case.name
        elif case.fault in ("values", "shape"):
            assert found > 0.1, case.name
            assert np.isinf(found) == (case.fault == "shape"), case.name
