from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forge import UnsupportedOperator
from validation.references.arbiters import arbiters_of

tf = pytest.importorskip("tensorflow")
PLAIN, COMPILED, DOUBLE = range(3)
generator = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


WEIGHTS = {
    "kernel": normal(3, 2, 3, 5),
    "scale": normal(5),
    "shift": normal(5),
    "mean": normal(5),
    "variance": np.abs(normal(5)) + np.float32(0.5),
    "dense": normal(5, 4),
}
INPUTS = {
    "image": normal(2, 9, 7, 3),
    "other": normal(2, 4),
    "count": np.array([(1 << 30) + 1, -3, 7], np.int32),
}


class Network(tf.Module):  # type: ignore[misc]
    """Convolution, batch norm in a loop, two inputs whose order matters, integers."""

    def __init__(self) -> None:
        super().__init__()
        for name, value in WEIGHTS.items():
            setattr(self, name, tf.Variable(value))

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 9, 7, 3], name="image"),
            tf.TensorSpec([None, 4], name="other"),
            tf.TensorSpec([3], tf.int32, name="count"),
        ]
    )
    def __call__(self, image: Any, other: Any, count: Any) -> dict[str, Any]:
        features = self.normalised(tf.nn.conv2d(image, self.kernel, [2, 1], "VALID"))
        _, features = tf.while_loop(
            lambda i, x: i < 2,
            lambda i, x: (i + 1, self.normalised(tf.nn.relu(x)) * 0.5),
            [tf.constant(0), features],
        )
        pooled = tf.reduce_mean(features, [1, 2])
        return {"y": tf.matmul(pooled, self.dense) - other, "a": count * 2}

    def normalised(self, x: Any) -> Any:
        return tf.compat.v1.nn.fused_batch_norm(
            x, self.scale, self.shift, self.mean, self.variance, epsilon=1e-3, is_training=False
        )[0]


def in_float64() -> np.ndarray:
    w = {name: array.astype(np.float64) for name, array in WEIGHTS.items()}
    windows = np.lib.stride_tricks.sliding_window_view(
        INPUTS["image"].astype(np.float64), (3, 2), (1, 2)
    )[:, ::2]

    def normalised(x: np.ndarray) -> np.ndarray:
        spread = np.sqrt(w["variance"] + np.float64(np.float32(1e-3)))
        result: np.ndarray = (x - w["mean"]) / spread * w["scale"] + w["shift"]
        return result

    features = normalised(np.einsum("nhwcij,ijco->nhwo", windows, w["kernel"]))
    for _ in range(2):
        features = normalised(np.maximum(features, 0)) * 0.5
    result: np.ndarray = features.mean((1, 2)) @ w["dense"] - INPUTS["other"]
    return result


def frozen_graph() -> Any:
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    network = Network()
    function = network.__call__.get_concrete_function()
    frozen = convert_variables_to_constants_v2(function, lower_control_flow=False)
    return frozen.graph.as_graph_def()


def test_all_agree_with_the_reference(agree: Callable[..., Any]) -> None:
    agree("tensorflow", Network(), {}, INPUTS)


def test_a_concrete_function(agree: Callable[..., Any]) -> None:
    network = Network()
    agree("tensorflow", network.__call__.get_concrete_function(), {}, INPUTS)


def test_a_saved_model(agree: Callable[..., Any], tmp_path: Path) -> None:
    tf.saved_model.save(Network(), str(tmp_path))
    agree("tensorflow", tf.saved_model.load(str(tmp_path)), {}, INPUTS)


def test_a_frozen_graph(agree: Callable[..., Any], is_float64: Callable[..., None]) -> None:
    graph = frozen_graph()
    before = graph.SerializeToString(deterministic=True)
    outputs = ["Identity_1", "Identity"]
    results = agree("tensorflow", graph, {"outputs": outputs}, INPUTS)
    is_float64(results["TensorFlow in float64"]["Identity_1"], in_float64())
    assert graph.SerializeToString(deterministic=True) == before


def test_the_float64_run_is_float64(is_float64: Callable[..., None]) -> None:
    network = Network()
    for _ in range(2):
        result = arbiters_of("tensorflow", network, {}, 1)[DOUBLE].start()(INPUTS)
        is_float64(result["y"], in_float64())
        np.testing.assert_array_equal(result["a"], INPUTS["count"] * 2)


def test_what_has_no_float64_form_is_named_at_once() -> None:
    @tf.function
    def model(a: Any, b: Any) -> Any:
        resized = tf.image.resize(a, [9, 9])
        return tf.nn.local_response_normalization(resized) + b

    options = {"shape_dict": {"a": (1, 4, 4, 3), "b": (1, 9, 9, 3)}}
    inputs = {"a": normal(1, 4, 4, 3), "b": normal(1, 9, 9, 3)}
    arbiters = arbiters_of("tensorflow", model, options, 1)
    with pytest.raises(UnsupportedOperator) as caught:
        arbiters[DOUBLE].start()
    assert caught.value.operators == ("LRN", "ResizeBilinear")
    results = [arbiters[which].start()(inputs)["output_0"] for which in (PLAIN, COMPILED)]
    np.testing.assert_allclose(results[0], results[1], rtol=0, atol=1e-5)


@pytest.mark.parametrize("traced", [False, True])
def test_the_first_runs_without_grappler_and_restores_it(traced: bool) -> None:
    """A function without a trace of its own runs eagerly as well."""
    seen = []

    def look(x: np.ndarray) -> np.ndarray:
        options = tf.config.optimizer.get_experimental_options()
        seen.append(options.get("disable_meta_optimizer", False))
        return x

    eager = []

    @tf.function(input_signature=[tf.TensorSpec([2], name="x")] if traced else None)
    def witness(x: Any) -> Any:
        eager.append(tf.executing_eagerly())
        return tf.numpy_function(look, [x], tf.float32, stateful=True)

    options = {} if traced else {"shape_dict": {"x": (2,)}}
    arbiters_of("tensorflow", witness, options, 1)[PLAIN].start()({"x": normal(2)})
    assert seen == [True]
    assert eager[-1] is not traced
    after = tf.config.optimizer.get_experimental_options()
    assert not after.get("disable_meta_optimizer", False)
    assert not tf.config.functions_run_eagerly()
