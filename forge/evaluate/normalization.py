"""Batch norm in inference, softmax, and activations, in float64 and rounded once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.special import erf, sigmoid
from forge.evaluate.values import Value


@operator("nn.batch_norm")
def batch_norm(call: Invocation) -> Value:
    """Normalise each channel with the given statistics, which are returned unchanged."""
    if call.attrs.training:
        raise NotEvaluable("a batch norm in training mode")
    data = call.array(0)
    gamma, beta, mean, variance = (call.array(index).astype(np.float64) for index in range(1, 5))
    shape = [1] * data.ndim
    axis = int(call.attrs.axis) % data.ndim
    shape[axis] = data.shape[axis]
    scale = 1.0 / np.sqrt(variance + float(call.attrs.epsilon))
    if call.attrs.scale:
        scale = scale * gamma
    result = (data.astype(np.float64) - mean.reshape(shape)) * scale.reshape(shape)
    if call.attrs.center:
        result = result + beta.reshape(shape)
    return result.astype(data.dtype), call.array(3), call.array(4)


def _shifted(call: Invocation) -> tuple[np.ndarray, int]:
    array = call.array(0).astype(np.float64)
    axis = int(call.attrs.axis)
    return array - np.max(array, axis=axis, keepdims=True), axis


@operator("nn.softmax")
def softmax(call: Invocation) -> Value:
    """Exponentials along an axis, over their sum."""
    shifted, axis = _shifted(call)
    powers = np.exp(shifted)
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True)).astype(call.array(0).dtype)


@operator("nn.log_softmax")
def log_softmax(call: Invocation) -> Value:
    """The logarithm of softmax."""
    shifted, axis = _shifted(call)
    total = np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return np.asarray(shifted - total).astype(call.array(0).dtype)


def _register(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array = call.array(0)
        return np.asarray(function(array.astype(np.float64))).astype(array.dtype)


_register("nn.gelu", lambda x: 0.5 * x * (1.0 + erf(x / np.sqrt(2.0))))
_register(
    "nn.gelu_tanh",
    lambda x: 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))),
)
_register("nn.silu", lambda x: x * sigmoid(x))


@operator("nn.leakyrelu")
def leaky_relu(call: Invocation) -> Value:
    """Scale what is negative."""
    array = call.array(0)
    wide = array.astype(np.float64)
    return np.where(wide > 0, wide, wide * float(call.attrs.alpha)).astype(array.dtype)
