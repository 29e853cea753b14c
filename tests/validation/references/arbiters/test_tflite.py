from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
from validation.references.arbiters import arbiters_of  # noqa: E402

generator = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


IMAGE, OTHER = (1, 9, 7, 3), (1, 4)


def converted(batch: int | None = 1, quantised: bool = False) -> bytes:
    kernel, factor, shift = normal(3, 2, 3, 5) / 4, np.abs(normal(5)), normal(5)
    dense = normal(5, 4) / 2

    @tf.function(
        input_signature=[
            tf.TensorSpec((batch, *IMAGE[1:]), name="image"),
            tf.TensorSpec((batch, *OTHER[1:]), name="other"),
        ]
    )
    def network(image: Any, other: Any) -> Any:
        features = tf.nn.conv2d(image, kernel, [2, 1], "SAME") * factor + shift
        return tf.matmul(tf.reduce_mean(tf.nn.relu(features), [1, 2]), dense) - other

    converter = tf.lite.TFLiteConverter.from_concrete_functions([network.get_concrete_function()])
    if quantised:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([normal(*IMAGE), normal(*OTHER)],) * 4
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    content: bytes = converter.convert()
    return content


def test_all_agree_with_the_reference(agree: Callable[..., Any]) -> None:
    agree("tflite", converted(), {}, {"image": normal(*IMAGE), "other": normal(*OTHER)})


def test_an_open_batch_is_resized_at_every_call() -> None:
    model = converted(None)
    shapes = {"image": (3, *IMAGE[1:]), "other": (3, *OTHER[1:])}
    images, others = normal(3, *IMAGE[1:]), normal(3, *OTHER[1:])
    for arbiter in arbiters_of("tflite", model, {"shape_dict": shapes}, 1):
        session = arbiter.start()
        (whole,) = session({"image": images, "other": others}).values()
        assert whole.shape == (3, 4)
        for index in range(3):
            part = slice(index, index + 1)
            (one,) = session({"image": images[part], "other": others[part]}).values()
            # Sums of 30 products, in another order for another batch.
            np.testing.assert_allclose(one, whole[part], rtol=0, atol=1e-5)


def test_integers_stay_integers() -> None:
    model = converted(quantised=True)
    from validation.references import framework_named

    inputs = {
        name: generator.integers(-128, 128, shape, dtype=np.int8)
        for name, shape in (("image", IMAGE), ("other", OTHER))
    }
    (expected,) = framework_named("tflite").session(model, {}, 1)(inputs).values()
    assert len(np.unique(expected)) > 1
    for arbiter in arbiters_of("tflite", model, {}, 1):
        (result,) = arbiter.start()(inputs).values()
        assert result.dtype == np.int8
        # Kernels may round a half up or to even.
        assert np.abs(result.astype(int) - expected).max() <= 1


def test_only_the_reference_kernels_are_of_their_own() -> None:
    own = {arbiter.name: arbiter.own_kernels for arbiter in arbiters_of("tflite", b"", {}, 1)}
    assert own == {"TFLite's reference kernels": True, "TFLite without XNNPACK": False}
