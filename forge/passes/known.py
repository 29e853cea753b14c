"""Values that folding knows, and the Relax expressions that stand for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from tvm import relax

from forge import _tvm
from forge.evaluate import Shape, Value
from forge.evaluate.values import array_of


class Known:
    """A tensor, shape or scalar whose value is known.

    Its expression is made when something first asks for it and is one object from then on,
    so that what only other folded calls read never becomes a constant, and what several
    calls read stays shared.
    """

    __slots__ = ("_expr", "value")

    def __init__(self, value: Value, expr: Any = None) -> None:
        self.value = value
        self._expr = expr

    @property
    def is_constant(self) -> bool:
        """Tell whether its expression has been made."""
        return self._expr is not None

    @property
    def expr(self) -> Any:
        if self._expr is None:
            if isinstance(self.value, np.ndarray):
                self._expr = _tvm.constant(self.value)
                # the constant holds a copy: let go of the one it was made from
                self.value = array_of(self._expr)
            elif isinstance(self.value, Shape):
                self._expr = relax.ShapeExpr(list(self.value))
            else:
                raise TypeError(f"no expression for {self.value!r}")
        return self._expr


class KnownTuple:
    """A tuple of which all or some fields are known."""

    __slots__ = ("fields",)

    def __init__(self, fields: Sequence[Known | KnownTuple | None]) -> None:
        self.fields = tuple(fields)


def value_of(known: Known | KnownTuple) -> Value | None:
    """Give the value; None where a field of a tuple is not known."""
    if isinstance(known, Known):
        return known.value
    values = [None if field is None else value_of(field) for field in known.fields]
    complete = tuple(value for value in values if value is not None)
    return complete if len(complete) == len(values) else None


def expression_of(known: Known | KnownTuple | None) -> Any:
    """Give the expression of a value that is wholly known."""
    if isinstance(known, KnownTuple):
        return relax.Tuple([expression_of(field) for field in known.fields])
    if known is None:
        raise TypeError("a field of the tuple is not known")
    return known.expr


def bytes_of(value: Value) -> int:
    """Count the bytes of the tensors in a value."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, tuple) and not isinstance(value, Shape):
        return sum(map(bytes_of, value))
    return 0


def wrap(value: Value, operands: Iterable[Known | KnownTuple]) -> Known | KnownTuple:
    """Wrap a result; one that is an operand's own array keeps the operand's expression."""
    if isinstance(value, tuple) and not isinstance(value, Shape):
        return KnownTuple([wrap(field, ()) for field in value])
    for operand in operands:
        if isinstance(operand, Known) and operand.value is value:
            return operand
    return Known(value)
