"""Read operators that scale and shift channels by constants, batch norm among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from forge.evaluate.values import is_floating
from forge.passes.bindings import Call, Op
from forge.passes.layers import NotFoldable

Lookup = Callable[[Any], "np.ndarray | None"]
BATCH_NORM = "relax.nn.batch_norm"
_ELEMENTWISE = {"relax.add", "relax.subtract", "relax.multiply", "relax.divide"}


@dataclass(frozen=True)
class Affine:
    """``scale[c] * x + shift[c]`` for each channel ``c``, in float64.

    Attributes:
        per_channel: The scale came as a vector, not as one number for all channels.
    """

    scale: np.ndarray
    shift: np.ndarray
    per_channel: bool = False

    def then(self, after: Affine) -> Affine:
        """Compose: first this, then ``after``."""
        return Affine(self.scale * after.scale, self.shift * after.scale + after.shift)


def identity(channels: int) -> Affine:
    """Make the map that changes nothing."""
    return Affine(np.ones(channels), np.zeros(channels))


def is_call(value: Any, name: str) -> bool:
    """Tell whether an expression calls one operator."""
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name == name


def is_elementwise(value: Any) -> bool:
    """Tell whether an expression adds, subtracts, multiplies or divides."""
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in _ELEMENTWISE


def is_float_cast(value: Any) -> bool:
    """Tell whether an expression casts between floating-point dtypes."""
    return is_call(value, "relax.astype") and all(
        str(ty.dtype).startswith(("float", "bfloat")) for ty in (value.ty, value.args[0].ty)
    )


def read_batch_norm(call: Any, axis: int, channels: int, array: Lookup) -> Affine:
    """Turn an inference batch norm into the map that it is.

    Args:
        call: The call of ``relax.nn.batch_norm``.
        axis: The axis of its data that must be its channel axis.
        channels: How many channels there are.
        array: Gives the value of a constant expression, None for any other.

    Raises:
        NotFoldable: It trains, another axis is its channel axis, a parameter is no constant
            or the map is not finite.
    """
    attrs = call.attrs
    if attrs.training:
        raise NotFoldable("it is in training mode")
    rank = int(call.args[0].ty.ndim)
    found = int(attrs.axis) % rank
    if found != axis:
        raise NotFoldable(f"its axis {found} is not the channel axis {axis}")
    parameters = []
    for name, arg in zip(("gamma", "beta", "mean", "variance"), call.args[1:], strict=True):
        value = array(arg)
        if value is None:
            raise NotFoldable(f"its {name} is not constant")
        if value.size != channels:
            raise NotFoldable(f"its {name} has {value.size} values for {channels} channels")
        parameters.append(value.astype(np.float64).reshape(-1))
    gamma, beta, mean, variance = parameters
    with np.errstate(all="ignore"):
        scale = 1.0 / np.sqrt(variance + float(attrs.epsilon))
        if attrs.scale:
            scale = scale * gamma
        shift = -mean * scale
        if attrs.center:
            shift = shift + beta
    return _finite(Affine(scale, shift))


def read_elementwise(
    call: Any, data: Any, axis: int, channels: int, array: Lookup
) -> Affine | None:
    """Turn an addition, subtraction, multiplication or division by constants into a map.

    Args:
        call: A call for which ``is_elementwise`` is true.
        data: The operand (a variable) that is not constant.
        axis: The channel axis of ``data``.
        channels: How many channels there are.
        array: Gives the value of a constant expression, None for any other.

    Returns:
        None where the other operand is no constant a channel, or the map is none.
    """
    left, right = call.args
    data_is_left = left.same_as(data)
    constant = array(right if data_is_left else left)
    if constant is None or not is_floating(constant.dtype):
        return None
    vector = _per_channel(constant, int(data.ty.ndim), axis, channels)
    if vector is None:
        return None
    ones, zeros = np.ones(channels), np.zeros(channels)
    name, per_channel = call.op.name, constant.size == channels and constant.ndim > 0
    if name == "relax.add":
        found = Affine(ones, vector)
    elif name == "relax.multiply":
        found = Affine(vector, zeros, per_channel)
    elif name == "relax.subtract":
        found = Affine(ones, -vector) if data_is_left else Affine(-ones, vector)
    elif data_is_left and np.all(vector != 0):
        found = Affine(1.0 / vector, zeros, per_channel)
    else:
        return None
    return found if np.all(np.isfinite(found.scale) & np.isfinite(found.shift)) else None


def _per_channel(constant: np.ndarray, rank: int, axis: int, channels: int) -> np.ndarray | None:
    if constant.ndim > rank:
        return None
    shape = (1,) * (rank - constant.ndim) + constant.shape
    if any(dim != 1 for position, dim in enumerate(shape) if position != axis):
        return None
    if shape[axis] not in (1, channels):
        return None
    return np.broadcast_to(constant.astype(np.float64).reshape(-1), (channels,))


def _finite(affine: Affine) -> Affine:
    if not np.all(np.isfinite(affine.scale) & np.isfinite(affine.shift)):
        raise NotFoldable("its parameters give a scale or shift that is not finite")
    return affine
