from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forge import RunError
from validation.references.arbiters import arbiters_of, float64_run

keras = pytest.importorskip("keras")
tf = pytest.importorskip("tensorflow")
layers = keras.layers
generator = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


def randomised(model: Any) -> Any:
    """Give a model random weights, variances among them that are not 1."""
    for weight in model.weights:
        value = normal(*weight.shape) * np.float32(0.4)
        weight.assign(np.abs(value) + np.float32(0.3) if "variance" in weight.path else value)
    return model


def two_inputs() -> Any:
    image = keras.Input((9, 7, 3), name="image")
    vector = keras.Input((5,), name="vector")
    x = layers.Conv2D(6, (3, 2), strides=2, padding="same")(image)
    x = layers.ReLU(6)(layers.BatchNormalization()(x))
    x = layers.LeakyReLU()(layers.SeparableConv2D(4, 3)(x))
    x = layers.GlobalAveragePooling2D()(layers.Dropout(0.4)(x))
    x = layers.Concatenate()([x, layers.Dense(4, activation="gelu")(vector)])
    outputs = {"b": layers.Dense(3, activation="softmax")(x), "a": layers.Dense(2)(x)}
    return randomised(keras.Model([vector, image], outputs))


def dense_and_norm() -> Any:
    x = keras.Input((4,), name="x")
    hidden = layers.BatchNormalization(epsilon=0.01, name="norm")(layers.Dense(5, name="one")(x))
    outputs = layers.Dense(3, name="two", use_bias=False)(layers.Activation("tanh")(hidden))
    return randomised(keras.Model(x, outputs))


def test_all_agree_with_the_reference(agree: Callable[..., Any]) -> None:
    inputs = {"vector": normal(2, 5), "image": normal(2, 9, 7, 3)}
    agree("keras", two_inputs(), {}, inputs)


def test_recurrent_layers_and_integers(agree: Callable[..., Any]) -> None:
    tokens = keras.Input((6,), dtype="int32", name="tokens")
    x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(layers.Embedding(9, 4)(tokens))
    x = layers.LayerNormalization()(layers.MultiHeadAttention(2, 3)(x, x) + x)
    model = randomised(keras.Model(tokens, layers.GRU(3)(x)))
    agree("keras", model, {}, {"tokens": generator.integers(0, 9, (2, 6)).astype(np.int32)})


def test_nested_and_shared_models(agree: Callable[..., Any]) -> None:
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.BatchNormalization()])
    x = keras.Input((4,), name="x")
    agree("keras", randomised(keras.Model(x, inner(inner(x)))), {}, {"x": normal(3, 4)})


def test_a_subclassed_model(agree: Callable[..., Any]) -> None:
    class Own(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.dense = layers.Dense(4)
            self.norm = layers.BatchNormalization()

        def call(self, x: Any, training: bool = False) -> Any:
            return self.norm(self.dense(x), training=training)

    model = Own()
    model(np.zeros((2, 5), np.float32))
    agree("keras", randomised(model), {}, {"x": normal(2, 5)})
    agree("keras", Own(), {"shape_dict": {"x": (2, 5)}}, {"x": normal(2, 5)})


def test_the_float64_run_is_float64(is_float64: Callable[..., None]) -> None:
    model = dense_and_norm()
    x = normal(3, 4)
    arbiter = float64_run("keras", model, {}, 1).arbiter
    assert arbiter is not None
    weights = {w.path: w.numpy().astype(np.float64) for w in model.weights}
    hidden = x.astype(np.float64) @ weights["one/kernel"] + weights["one/bias"]
    hidden = (hidden - weights["norm/moving_mean"]) / np.sqrt(
        weights["norm/moving_variance"] + 0.01
    )
    hidden = hidden * weights["norm/gamma"] + weights["norm/beta"]
    is_float64(arbiter.start()({"x": x})["two"], np.tanh(hidden) @ weights["two/kernel"])


def test_the_model_and_keras_stay_as_they_were() -> None:
    model = dense_and_norm()
    config, weights = model.get_config(), model.get_weights()
    for arbiter in arbiters_of("keras", model, {}, 1):
        arbiter.start()({"x": normal(3, 4)})
    assert model.get_config() == config
    assert [layer.dtype_policy.name for layer in model.layers[1:]] == ["float32"] * 4
    for before, after in zip(weights, model.get_weights(), strict=True):
        assert after.dtype == np.float32
        np.testing.assert_array_equal(before, after)
    assert keras.config.floatx() == "float32"
    assert keras.config.dtype_policy().name == "float32"


def test_a_layer_that_names_float32_runs_as_a_graph(is_float64: Callable[..., None]) -> None:
    class Upcast(layers.Layer):  # type: ignore[misc]
        def call(self, x: Any) -> Any:
            return tf.cast(tf.exp(tf.cast(x, tf.float32)), self.compute_dtype)

    x = keras.Input((4,), name="x")
    model = keras.Model(x, Upcast(name="y")(x))
    values = normal(3, 4)
    arbiter = float64_run("keras", model, {}, 1).arbiter
    assert arbiter is not None
    is_float64(arbiter.start()({"x": values})["y"], np.exp(values.astype(np.float64)))


def test_mixed_precision_is_widened(is_float64: Callable[..., None]) -> None:
    x = keras.Input((4,), name="x")
    model = randomised(keras.Model(x, layers.Dense(3, dtype="mixed_float16", name="y")(x)))
    values = normal(2, 4)
    arbiter = float64_run("keras", model, {}, 1).arbiter
    assert arbiter is not None
    kernel, bias = (w.numpy().astype(np.float64) for w in model.weights)
    is_float64(arbiter.start()({"x": values})["y"], values.astype(np.float64) @ kernel + bias)


def test_what_has_no_float64_form_is_refused_with_both_reasons() -> None:
    x = keras.Input((4, 4, 2), name="x")
    model = keras.Model(x, layers.UpSampling2D(2, interpolation="bilinear")(x))
    arbiter = float64_run("keras", model, {}, 1).arbiter
    assert arbiter is not None
    with pytest.raises(RunError, match=r"no float64 clone.*ResizeBilinear.*no float64 graph"):
        arbiter.start()
