from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forge import UnsupportedOperator

tf = pytest.importorskip("tensorflow")
from validation.references.arbiters.graph_double import (  # noqa: E402
    float64_function,
    narrow_operators,
)

X = np.array([1.1, 2.3, -3.7], np.float32)
WIDE = X.astype(np.float64)


def concrete(function: Callable[[Any], Any], *specs: Any) -> Any:
    wrapped = tf.function(function, autograph=False)
    return wrapped.get_concrete_function(*(specs or (tf.TensorSpec([3]),)))


def run(function: Callable[[Any], Any]) -> np.ndarray:
    (result,) = float64_function(concrete(function))([tf.constant(WIDE)])
    array: np.ndarray = result.numpy()
    return array


def test_constants_and_casts(is_float64: Callable[..., None]) -> None:
    def model(x: Any) -> Any:
        half = tf.cast(tf.cast(x, tf.float16), tf.float32)
        return half * 0.1 + tf.constant([0.2, 0.3, 0.4]) + tf.cast(tf.range(3), tf.float32)

    factor, terms = np.float64(np.float32(0.1)), np.array([0.2, 0.3, 0.4], np.float32)
    is_float64(run(model), WIDE * factor + terms.astype(np.float64) + np.arange(3))


def test_branches_and_nested_functions(is_float64: Callable[..., None]) -> None:
    @tf.function
    def inner(x: Any) -> Any:
        return tf.exp(x) * 0.1

    def model(x: Any) -> Any:
        chosen = tf.cond(tf.reduce_sum(x) < 0, lambda: inner(x), lambda: x)
        return tf.map_fn(lambda v: v + 0.3, chosen)

    tenth, third = (np.float64(np.float32(v)) for v in (0.1, 0.3))
    is_float64(run(model), np.exp(WIDE) * tenth + third)


def test_two_conversions_of_one_function_do_not_meet() -> None:
    def model(x: Any) -> Any:
        return tf.map_fn(lambda v: v * 3, x)

    function = concrete(model)
    for _ in range(2):
        (result,) = float64_function(function)([tf.constant(WIDE)])
        np.testing.assert_array_equal(result, WIDE * 3)
    (result,) = tf.nest.flatten(function(tf.constant(X)))
    assert result.dtype == tf.float32


def test_bits_are_not_widened() -> None:
    with pytest.raises(UnsupportedOperator, match="Bitcast") as caught:
        run(lambda x: tf.bitcast(x, tf.int32))
    assert caught.value.operators == ("Bitcast",)


def test_training_batch_norms_are_refused() -> None:
    def model(x: Any) -> Any:
        image = tf.reshape(x, [1, 1, 3, 1])
        return tf.compat.v1.nn.fused_batch_norm(image, [1.0], [0.0])[0]

    with pytest.raises(UnsupportedOperator, match="FusedBatchNormV3"):
        run(model)


def test_narrow_operators_are_found_inside_functions_too() -> None:
    def model(x: Any) -> Any:
        return tf.map_fn(lambda v: tf.cast(tf.sin(tf.cast(v, tf.float32)), tf.float64), x)

    found = narrow_operators(concrete(model, tf.TensorSpec([3], tf.float64)).graph)
    assert "Sin" in found
    assert not narrow_operators(concrete(lambda x: x * 2, tf.TensorSpec([3], tf.float64)).graph)
