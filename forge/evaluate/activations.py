"""Activations: in float64 and rounded once, except where only elements are chosen.

NaN stays NaN in all of them, as IEEE 754 and every framework have it; compiled code lets a
maximum swallow it (apache/tvm 19572).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from forge.evaluate.registry import Invocation, operator
from forge.evaluate.special import erf, sigmoid
from forge.evaluate.values import Value

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


def _register(name: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        array = call.array(0)
        return np.asarray(function(array.astype(np.float64))).astype(array.dtype)


def _selu(x: np.ndarray) -> np.ndarray:
    return _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0.0)))


_register("nn.gelu", lambda x: 0.5 * x * (1.0 + erf(x / np.sqrt(2.0))))
_register(
    "nn.gelu_tanh",
    lambda x: 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))),
)
_register("nn.silu", lambda x: x * sigmoid(x))
_register("nn.selu", _selu)


@operator("nn.relu")
def relu(call: Invocation) -> Value:
    """Replace what is negative by zero."""
    array = call.array(0)
    return np.asarray(np.maximum(array, array.dtype.type(0)))


def _sloped(array: np.ndarray, slope: np.ndarray | float) -> np.ndarray:
    wide = array.astype(np.float64)
    return np.where(wide > 0, wide, wide * slope).astype(array.dtype)


@operator("nn.leakyrelu")
def leaky_relu(call: Invocation) -> Value:
    """Scale what is negative by one factor."""
    return _sloped(call.array(0), float(call.attrs.alpha))


@operator("nn.prelu")
def prelu(call: Invocation) -> Value:
    """Scale what is negative by a factor of its channel."""
    array, slope = call.array(0), call.array(1).astype(np.float64)
    shape = [1] * array.ndim
    shape[int(call.attrs.axis) % array.ndim] = -1
    return _sloped(array, slope.reshape(shape))


@operator("nn.softplus")
def softplus(call: Invocation) -> Value:
    """The logarithm of one plus the exponential; beyond a threshold, the element itself."""
    array = call.array(0)
    wide = array.astype(np.float64)
    scaled = wide * float(call.attrs.beta)
    soft = np.logaddexp(0.0, scaled) / float(call.attrs.beta)
    return np.where(scaled > float(call.attrs.threshold), wide, soft).astype(array.dtype)


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
