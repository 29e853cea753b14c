"""Built TensorFlow models, in each of the shapes in which users hold one."""

from __future__ import annotations

import math
import tempfile
from typing import Any

import numpy as np

from model_zoo import data
from model_zoo.entry import Sample
from model_zoo.registry import register

BUILT = ("built",)


def convolutional(seed: int) -> Any:
    """Make a ``tf.Module`` from (1, 27, 25, 3) to 5 classes, with fused batch norm."""
    import tensorflow as tf

    random = data.generator(seed)

    def weight(*shape: int, fan_in: int) -> Any:
        values = random.normal(0.0, math.sqrt(2.0 / fan_in), shape)
        return tf.Variable(values.astype(np.float32), trainable=False)

    def uniform(low: float, high: float, size: int) -> Any:
        return tf.Variable(random.uniform(low, high, size).astype(np.float32), trainable=False)

    class Convolutional(tf.Module):  # type: ignore[misc]
        """Two convolutions, the second depthwise, and a dense head."""

        def __init__(self) -> None:
            super().__init__()
            self.kernel = weight(3, 3, 3, 8, fan_in=27)
            self.norm = [
                uniform(0.5, 1.5, 8),
                uniform(-0.5, 0.5, 8),
                uniform(-0.5, 0.5, 8),
                uniform(0.5, 2.0, 8),
            ]
            self.depthwise = weight(3, 3, 8, 1, fan_in=9)
            self.dense = weight(8, 5, fan_in=8)
            self.bias = uniform(-0.5, 0.5, 5)

        def __call__(self, image: Any) -> Any:
            value = tf.nn.conv2d(image, self.kernel, strides=2, padding="SAME")
            value, *_ = tf.compat.v1.nn.fused_batch_norm(value, *self.norm, is_training=False)
            value = tf.nn.relu6(value)
            value = tf.nn.depthwise_conv2d(value, self.depthwise, [1, 1, 1, 1], "VALID")
            value = tf.reduce_mean(tf.nn.leaky_relu(value, 0.1), axis=[1, 2])
            return tf.nn.softmax(tf.matmul(value, self.dense) + self.bias)

    return Convolutional()


def concrete(seed: int) -> Any:
    """Make a ``ConcreteFunction`` of the convolutional module; its input is ``image``."""
    import tensorflow as tf

    network = convolutional(seed)
    spec = tf.TensorSpec((1, 27, 25, 3), tf.float32, name="image")
    function = tf.function(lambda image: network(image), input_signature=[spec])
    # A ConcreteFunction holds its variables weakly; whoever has it must keep their owner too.
    result = function.get_concrete_function()
    result.network = network
    return result


def image(seed: int) -> np.ndarray:
    """Make the input of the convolutional module."""
    return data.images(seed, 1, 3, 27, 25, layout="NHWC")


@register(
    "tensorflow/conv/concrete-function",
    "Convolution, fused batch norm and depthwise convolution as a ConcreteFunction",
    tags=(*BUILT, "batch-norm"),
)
def _concrete() -> Sample:
    return Sample(concrete(301), {"image": image(81)})


@register(
    "tensorflow/conv/frozen-graph",
    "The same network as a frozen GraphDef, with its output named",
    tags=(*BUILT, "batch-norm"),
)
def _frozen() -> Sample:
    from tensorflow.python.framework.convert_to_constants import (
        convert_variables_to_constants_v2,
    )

    frozen = convert_variables_to_constants_v2(concrete(302))
    outputs = [tensor.name for tensor in frozen.outputs]
    return Sample(frozen.graph.as_graph_def(), {"image": image(82)}, {"outputs": outputs})


@register(
    "tensorflow/arithmetic/function",
    "A tf.function of two inputs, b before a, with two outputs",
    tags=BUILT,
)
def _arithmetic() -> Sample:
    import tensorflow as tf

    signature = [tf.TensorSpec((2, 6), tf.float32, name=name) for name in ("b", "a")]

    @tf.function(input_signature=signature)  # type: ignore[untyped-decorator]
    def combine(b: Any, a: Any) -> Any:
        difference = b - a
        return difference * tf.constant(3.0) + tf.constant(4.0), tf.concat([a, difference], axis=1)

    random = data.generator(83)
    inputs = {name: random.normal(size=(2, 6)).astype(np.float32) for name in ("b", "a")}
    return Sample(combine, inputs)


@register(
    "tensorflow/dense/saved-model",
    "A SavedModel object with an open batch, by its serving signature",
    tags=BUILT,
)
def _saved_model() -> Sample:
    import tensorflow as tf

    random = data.generator(304)

    class Dense(tf.Module):  # type: ignore[misc]
        """Two dense layers with a layer norm between, results in a dict."""

        def __init__(self) -> None:
            super().__init__()
            self.first = tf.Variable(random.normal(0.0, 0.4, (10, 16)).astype(np.float32))
            self.second = tf.Variable(random.normal(0.0, 0.35, (16, 3)).astype(np.float32))
            self.bias = tf.Variable(random.uniform(-0.5, 0.5, 16).astype(np.float32))

        @tf.function(  # type: ignore[untyped-decorator]
            input_signature=[tf.TensorSpec((None, 10), tf.float32, name="features")]
        )
        def serve(self, features: Any) -> Any:
            hidden = tf.matmul(features, self.first) + self.bias
            mean, variance = tf.nn.moments(hidden, axes=[-1], keepdims=True)
            hidden = tf.nn.gelu((hidden - mean) * tf.math.rsqrt(variance + 1e-5))
            return {"scores": tf.matmul(hidden, self.second)}

    model = Dense()
    with tempfile.TemporaryDirectory() as folder:
        signatures = {"serving_default": model.serve.get_concrete_function()}
        tf.saved_model.save(model, folder, signatures=signatures)
        opened = tf.saved_model.load(folder)
    features = data.generator(84).normal(size=(4, 10)).astype(np.float32)
    return Sample(
        opened,
        {"features": features},
        {"signature": "serving_default", "shape_dict": {"features": (4, 10)}},
    )


@register(
    "tensorflow/attention/function",
    "Self-attention with einsum in a tf.function whose batch is open",
    tags=(*BUILT, "attention"),
)
def _attention() -> Sample:
    import tensorflow as tf

    random = data.generator(305)
    width, heads = 16, 4
    weights = [
        tf.constant(random.normal(0.0, 0.25, (width, heads, width // heads)).astype(np.float32))
        for _ in range(3)
    ]
    project = tf.constant(random.normal(0.0, 0.25, (width, width)).astype(np.float32))

    @tf.function(  # type: ignore[untyped-decorator]
        input_signature=[tf.TensorSpec((None, 6, width), tf.float32, name="sequence")]
    )
    def attend(sequence: Any) -> Any:
        query, key, value = (tf.einsum("btw,whd->bhtd", sequence, weight) for weight in weights)
        scores = tf.matmul(query, key, transpose_b=True) / math.sqrt(width / heads)
        mixed = tf.transpose(tf.matmul(tf.nn.softmax(scores), value), [0, 2, 1, 3])
        return sequence + tf.matmul(tf.reshape(mixed, [-1, 6, width]), project)

    sequence = data.generator(85).normal(size=(2, 6, width)).astype(np.float32)
    return Sample(attend, {"sequence": sequence}, {"shape_dict": {"sequence": (2, 6, width)}})
