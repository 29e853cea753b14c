"""Layers that multiply by a constant weight: where their channels are, and how to rescale them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from forge._tvm import dims_of, dtype_of
from forge.evaluate.values import is_floating
from forge.passes.bindings import Call, Op

CONVOLUTIONS = {f"relax.nn.conv{rank}d" for rank in (1, 2, 3)}
TRANSPOSED = {f"relax.nn.conv{rank}d_transpose" for rank in (1, 2, 3)}
LAYERS = {*CONVOLUTIONS, *TRANSPOSED, "relax.matmul"}


class NotFoldable(Exception):
    """A layer cannot take a batch norm, for the reason given."""


def is_layer(value: Any) -> bool:
    """Tell whether an expression is a call of a convolution or a matrix product."""
    return isinstance(value, Call) and isinstance(value.op, Op) and value.op.name in LAYERS


@dataclass(frozen=True)
class Layer:
    """A convolution or matrix product with a constant weight.

    Attributes:
        call: The call itself.
        weight: The value of its weight.
        weight_index: Which argument the weight is; the other is the data.
        output_axis: The channel axis of the result, and ``input_axis`` that of the data.
        outputs: How many channels the result has, and ``inputs`` how many the data has.
        groups: The groups of a convolution.
        rows: The weight's axis of output channels, and ``columns`` that of input channels.
        transposed: A transposed convolution, whose weight divides the outputs by the groups;
            a plain one divides the inputs.
    """

    call: Any
    weight: np.ndarray
    weight_index: int
    output_axis: int
    input_axis: int
    groups: int
    rows: int
    columns: int
    transposed: bool = False

    @property
    def outputs(self) -> int:
        return int(self.weight.shape[self.rows]) * (self.groups if self.transposed else 1)

    @property
    def inputs(self) -> int:
        return int(self.weight.shape[self.columns]) * (1 if self.transposed else self.groups)

    @property
    def data(self) -> Any:
        return self.call.args[1 - self.weight_index]

    def scaled_outputs(self, scale: np.ndarray) -> np.ndarray:
        """Multiply the weight so that output channel ``c`` is ``scale[c]`` times as large."""
        if not self.transposed:
            factors = np.broadcast_to(scale[:, None], self._matrix_shape)
        else:
            factors = self._per_group(scale, self.columns).T
        return self._times(factors)

    def scaled_inputs(self, scale: np.ndarray) -> np.ndarray:
        """Multiply the weight as if input channel ``c`` came ``scale[c]`` times as large."""
        if self.transposed:
            factors = np.broadcast_to(scale[None, :], self._matrix_shape)
        else:
            factors = self._per_group(scale, self.rows)
        return self._times(factors)

    def response(self, shift: np.ndarray) -> np.ndarray:
        """Compute what a constant ``shift`` of the input channels adds to each output channel.

        Raises:
            NotFoldable: It is not the same everywhere in the result.
        """
        if not np.any(shift):
            return np.zeros(self.outputs)
        self._check_uniform()
        weighted = self.scaled_inputs(shift)
        spatial = tuple(
            axis for axis in range(weighted.ndim) if axis not in (self.rows, self.columns)
        )
        matrix = weighted.sum(axis=spatial)
        if self.columns < self.rows:
            matrix = matrix.T
        if not self.transposed:
            return np.asarray(matrix.sum(axis=1))
        per_group = matrix.reshape(matrix.shape[0], self.groups, -1).sum(axis=2)
        return np.asarray(per_group.T.reshape(-1))

    def rebuilt(self, weight: Any, data: Any = None) -> Any:
        """Make the call again with another weight, and maybe other data, of the same types.

        Raises:
            NotFoldable: With these it would not give what it gave.
        """
        args = [self.data if data is None else data, weight]
        if self.weight_index == 0:
            args.reverse()
        call = self.call
        _check_type(Call(call.op, args, call.attrs, call.ty_args), call.ty)
        return Call(call.op, args, call.attrs, call.ty_args, call.span, call.ty)

    @property
    def _matrix_shape(self) -> tuple[int, int]:
        return self.weight.shape[self.rows], self.weight.shape[self.columns]

    def _per_group(self, values: np.ndarray, long_axis: int) -> np.ndarray:
        # one row of the short axis for each index of the axis that counts over all groups
        length = self.weight.shape[long_axis]
        return np.repeat(values.reshape(self.groups, -1), length // self.groups, axis=0)

    def _times(self, factors: np.ndarray) -> np.ndarray:
        shape = [1] * self.weight.ndim
        shape[self.rows], shape[self.columns] = self._matrix_shape
        if self.columns < self.rows:
            factors = factors.T
        return np.asarray(self.weight.astype(np.float64) * factors.reshape(shape))

    def _check_uniform(self) -> None:
        if self.call.op.name == "relax.matmul":
            if self.weight.ndim != 2:
                raise NotFoldable("the shift differs between the matrices of a batched weight")
            return
        attrs = self.call.attrs
        if not self.transposed:
            if any(int(width) for width in attrs.padding):
                raise NotFoldable(
                    "zero padding makes the effect of the shift differ at the borders"
                )
            return
        taps = prod(self.weight.shape) // prod(self._matrix_shape)
        if taps != 1 or any(int(s) != 1 for s in attrs.strides) or any(attrs.output_padding):
            raise NotFoldable("the effect of the shift differs between positions of the result")
        if any(int(width) for width in attrs.padding):
            raise NotFoldable("zero padding makes the effect of the shift differ at the borders")


def _check_type(untyped: Any, expected: Any) -> None:
    """Have TVM infer a rebuilt layer's type: one that keeps a wrong one reads out of bounds."""
    try:
        found = relax.BlockBuilder().normalize(untyped).ty
    except Exception as error:
        raise NotFoldable(f"TVM refuses the rebuilt layer: {error}") from error
    dims, wanted = dims_of(found), dims_of(expected)
    differs = (
        dims is None
        or wanted is None
        or len(dims) != len(wanted)
        or any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in zip(dims, wanted))
    )
    if differs or dtype_of(found) != dtype_of(expected):
        raise NotFoldable(f"the rebuilt layer would give {found}, not {expected}")


def find_layer(call: Any, array: Callable[[Any], np.ndarray | None]) -> Layer:
    """Describe a layer.

    Args:
        call: A call for which ``is_layer`` is true.
        array: Gives the value of a constant expression, None for any other.

    Raises:
        NotFoldable: Its weight is not constant, or its layout is not understood.
    """
    layer = _matmul(call, array) if call.op.name == "relax.matmul" else _convolution(call, array)
    if not is_floating(layer.weight.dtype):
        raise NotFoldable(f"its weight is {layer.weight.dtype}")
    return layer


def _convolution(call: Any, array: Callable[[Any], np.ndarray | None]) -> Layer:
    weight = array(call.args[1])
    if weight is None:
        raise NotFoldable("its weight is not constant")
    attrs = call.attrs
    data_layout, kernel_layout = str(attrs.data_layout), str(attrs.kernel_layout)
    out_layout = str(attrs.out_layout) or data_layout
    for layout in (data_layout, kernel_layout, out_layout):
        if not layout.isalpha() or not layout.isupper():
            raise NotFoldable(f"its layout is {layout}")
    return Layer(
        call,
        weight,
        weight_index=1,
        output_axis=out_layout.index("C"),
        input_axis=data_layout.index("C"),
        groups=int(attrs.groups),
        rows=kernel_layout.index("O"),
        columns=kernel_layout.index("I"),
        transposed=call.op.name in TRANSPOSED,
    )


def _matmul(call: Any, array: Callable[[Any], np.ndarray | None]) -> Layer:
    left, right = (int(arg.ty.ndim) for arg in call.args)
    result = int(call.ty.ndim)
    weight = array(call.args[1])
    if weight is not None and right >= 2:
        return Layer(call, weight, 1, result - 1, left - 1, 1, right - 1, right - 2)
    weight = array(call.args[0])
    if weight is not None and left >= 2:
        output_axis = result - 1 if right == 1 else result - 2
        input_axis = right - 1 if right == 1 else right - 2
        return Layer(call, weight, 0, output_axis, input_axis, 1, left - 2, left - 1)
    raise NotFoldable("neither operand is a constant matrix")
