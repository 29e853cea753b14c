"""Built Keras models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from model_zoo import data
from model_zoo.entry import Sample
from model_zoo.registry import register

BUILT = ("built",)


def initialise(model: Any, seed: int) -> Any:
    """Give every weight and batch-norm statistic of a Keras model a random value.

    Kernels are Kaiming-normal, so that activations neither vanish nor grow with depth.
    """
    random = data.generator(seed)
    for weight in model.weights:
        kind, shape = weight.path.rpartition("/")[2], tuple(weight.shape)
        if kind == "moving_variance":
            values = random.uniform(0.5, 2.0, shape)
        elif kind == "gamma":
            values = random.uniform(0.5, 1.5, shape)
        elif kind in ("bias", "beta", "moving_mean"):
            values = random.normal(0.0, 0.2, shape)
        else:
            fan_in = math.prod(shape[:2] if kind == "depthwise_kernel" else shape[:-1])
            values = random.normal(0.0, math.sqrt(2.0 / fan_in), shape)
        weight.assign(values.astype(np.float32))
    return model


def fixed(model: Any, inputs: dict[str, np.ndarray]) -> Sample:
    """Make a sample whose open batch is that of the inputs."""
    shapes = {name: tuple(values.shape) for name, values in inputs.items()}
    return Sample(model, inputs, {"shape_dict": shapes})


@register(
    "keras/cnn/sequential",
    "A Sequential CNN with batch norms and dropout, run at batch 1 and 3",
    tags=(*BUILT, "batch-norm", "dynamic-batch"),
)
def _cnn() -> Sample:
    import keras
    from keras import layers

    model = keras.Sequential(
        [
            keras.Input((29, 31, 3), name="image"),
            layers.Conv2D(8, 3, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("relu"),
            layers.Conv2D(16, 3, padding="valid"),
            layers.BatchNormalization(),
            layers.LeakyReLU(negative_slope=0.2),
            layers.MaxPooling2D(2, padding="same"),
            layers.Dropout(0.4),
            layers.GlobalAveragePooling2D(),
            layers.Dense(5, activation="softmax", name="classes"),
        ]
    )
    pictures = data.images(61, 4, 3, 29, 31, layout="NHWC")
    return Sample(
        initialise(model, 201), {"image": pictures[:1]}, extra_inputs=({"image": pictures[1:]},)
    )


@register(
    "keras/subtraction/functional",
    "Two inputs whose order matters and is not alphabetical: b - a, and two outputs",
    tags=BUILT,
)
def _subtraction() -> Sample:
    import keras
    from keras import layers

    minuend = keras.Input((6,), name="b")
    subtrahend = keras.Input((6,), name="a")
    difference = layers.Subtract(name="difference")([minuend, subtrahend])
    dense = layers.Dense(4, activation="tanh", name="code")(difference)
    model = keras.Model([minuend, subtrahend], [difference, dense])
    random = data.generator(62)
    inputs = {name: random.normal(size=(1, 6)).astype(np.float32) for name in ("b", "a")}
    return Sample(initialise(model, 202), inputs)


@register("keras/residual/functional", "A small residual network", tags=BUILT)
def _residual() -> Sample:
    import keras
    from keras import layers

    def block(value: Any, channels: int, stride: int) -> Any:
        body = layers.Conv2D(channels, 3, stride, padding="same", use_bias=False)(value)
        body = layers.ReLU()(layers.BatchNormalization()(body))
        body = layers.Conv2D(channels, 3, padding="same", use_bias=False)(body)
        body = layers.BatchNormalization()(body)
        if stride != 1 or value.shape[-1] != channels:
            value = layers.Conv2D(channels, 1, stride, use_bias=False)(value)
            value = layers.BatchNormalization()(value)
        return layers.ReLU()(layers.Add()([body, value]))

    image = keras.Input((40, 40, 3), name="image")
    features = layers.Conv2D(12, 3, 2, padding="same", activation="relu")(image)
    features = block(block(features, 12, 1), 20, 2)
    pooled = layers.GlobalAveragePooling2D()(features)
    model = keras.Model(image, layers.Dense(6, name="classes")(pooled))
    return Sample(initialise(model, 203), {"image": data.images(63, 1, 3, 40, 40, layout="NHWC")})


@register("keras/dense/batch-norm", "Dense layers with batch norms between", tags=BUILT)
def _dense() -> Sample:
    import keras
    from keras import layers

    model = keras.Sequential(
        [
            keras.Input((12,), name="features"),
            layers.Dense(24, use_bias=False),
            layers.BatchNormalization(),
            layers.Activation("gelu"),
            layers.Dense(16, activation="elu"),
            layers.BatchNormalization(scale=False),
            layers.Dense(3, activation="sigmoid", name="scores"),
        ]
    )
    features = data.generator(64).normal(size=(1, 12)).astype(np.float32)
    return fixed(initialise(model, 204), {"features": features})


@register("keras/recurrent/lstm", "Token ids, an embedding and two LSTMs", tags=BUILT)
def _lstm() -> Sample:
    import keras
    from keras import layers

    model = keras.Sequential(
        [
            keras.Input((8,), dtype="int32", name="tokens"),
            layers.Embedding(40, 10),
            layers.LSTM(12, return_sequences=True),
            layers.LSTM(8),
            layers.Dense(4, name="scores"),
        ]
    )
    tokens = data.tokens(65, (1, 8), 40).astype(np.int32)
    return fixed(initialise(model, 205), {"tokens": tokens})


@register(
    "keras/mobilenet/v2",
    "keras.applications.MobileNetV2 at 96 x 96, with random batch-norm statistics",
    tags=(*BUILT, "application"),
)
def _mobilenet() -> Sample:
    import keras

    image = keras.Input((96, 96, 3), name="image")
    model = keras.applications.MobileNetV2(weights=None, input_tensor=image, classes=10)
    return Sample(initialise(model, 206), {"image": data.images(66, 1, 3, 96, 96, layout="NHWC")})


@register(
    "keras/attention/multi-head",
    "Multi-head attention over two sequences, causal, with layer norm",
    suites=("full",),
    tags=(*BUILT, "attention"),
)
def _attention() -> Sample:
    import keras
    from keras import layers

    query = keras.Input((7, 16), name="query")
    memory = keras.Input((7, 16), name="memory")
    attended = layers.MultiHeadAttention(4, 4)(query, memory, use_causal_mask=True)
    mixed = layers.LayerNormalization(name="mixed")(layers.Add()([query, attended]))
    random = data.generator(67)
    inputs = {
        name: random.normal(size=(1, 7, 16)).astype(np.float32) for name in ("query", "memory")
    }
    return fixed(initialise(keras.Model([query, memory], mixed), 207), inputs)


@register(
    "keras/transposed/convolution",
    "Transposed convolutions that double a picture twice",
    suites=("full",),
    tags=BUILT,
)
def _transposed() -> Sample:
    import keras
    from keras import layers

    model = keras.Sequential(
        [
            keras.Input((9, 7, 4), name="code"),
            layers.Conv2DTranspose(6, 3, strides=2, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Conv2DTranspose(
                3, 4, strides=2, padding="same", activation="tanh", name="image"
            ),
        ]
    )
    return Sample(initialise(model, 208), {"code": data.images(68, 1, 4, 9, 7, layout="NHWC")})
