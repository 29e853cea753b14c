"""Which Relax operators can be evaluated with numpy, and how one is called."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from forge.evaluate.values import Shape, Value, is_floating, numpy_dtype


class NotEvaluable(Exception):
    """A call has no value that may be relied on: an unknown operator, a division by zero.

    Attributes:
        reason: Why there is none.
        operator: Which operator it is about, for example ``relax.take``; empty while one
            operator is evaluated alone.
    """

    def __init__(self, reason: str, operator: str = "") -> None:
        super().__init__(reason, operator)
        self.reason = reason
        self.operator = operator

    def __str__(self) -> str:
        return f"{self.operator}: {self.reason}" if self.operator else self.reason


@dataclass(frozen=True, slots=True)
class Invocation:
    """One call of an operator on known values.

    Attributes:
        args: The values of the arguments.
        attrs: The Relax attributes of the call.
        type: The type that Relax gives the result; its dtype and rank are known, its shape
            may be symbolic.
        width: Floating-point dtype in which to evaluate instead of the program's own.
    """

    args: tuple[Value, ...]
    attrs: Any
    type: Any
    width: np.dtype | None = None

    def array(self, index: int) -> np.ndarray:
        """Take an argument that is a tensor."""
        value = self.args[index]
        if not isinstance(value, np.ndarray):
            raise NotEvaluable(f"argument {index} is no tensor")
        return value

    def arrays(self, index: int) -> tuple[np.ndarray, ...]:
        """Take an argument that is a tuple of tensors."""
        return cast("tuple[np.ndarray, ...]", self.args[index])

    def pair(self) -> tuple[np.ndarray, np.ndarray]:
        """Take the first two arguments, tensors of one dtype; a scalar takes the other's."""
        left, right = self.args[0], self.args[1]
        if isinstance(left, np.ndarray) and not isinstance(right, np.ndarray):
            right = np.asarray(right).astype(left.dtype)
        elif isinstance(right, np.ndarray) and not isinstance(left, np.ndarray):
            left = np.asarray(left).astype(right.dtype)
        if not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
            raise NotEvaluable("neither operand is a tensor")
        if left.dtype != right.dtype:
            raise NotEvaluable(f"operands are {left.dtype} and {right.dtype}")
        return left, right

    def shape(self, index: int) -> tuple[int, ...]:
        """Take an argument that is a shape or a tuple of scalars."""
        value = self.args[index]
        if not isinstance(value, tuple):
            raise NotEvaluable(f"argument {index} is no shape")
        return Shape(int(cast("int", dim)) for dim in value)

    def scalar(self, index: int) -> Any:
        """Take an argument that is a scalar, or a tensor of one element."""
        value = self.args[index]
        return value.reshape(()).item() if isinstance(value, np.ndarray) else value

    def axis(self, rank: int, name: str = "axis") -> int | None:
        """Take an attribute that is one axis, counted from the front; None where it is not set."""
        axis = getattr(self.attrs, name)
        return None if axis is None else int(axis) % max(rank, 1)

    def axes(self, name: str = "axis") -> tuple[int, ...] | None:
        """Take an attribute that is a list of axes; None where it is not set."""
        axes = getattr(self.attrs, name)
        return None if axes is None else tuple(int(axis) for axis in axes)

    def ints(self, name: str) -> tuple[int, ...]:
        """Take an attribute that is a list of integers."""
        return tuple(int(value) for value in getattr(self.attrs, name))

    def widen(self, dtype: np.dtype | str) -> np.dtype:
        """Give the dtype to evaluate in where the program says ``dtype``."""
        found = numpy_dtype(dtype) if isinstance(dtype, str) else dtype
        return self.width if self.width is not None and is_floating(found) else found

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the result, where it is one tensor."""
        return self.widen(str(self.type.dtype))


Evaluator = Callable[[Invocation], Value]
OPERATORS: dict[str, Evaluator] = {}


def operator(*names: str) -> Callable[[Evaluator], Evaluator]:
    """Register a function as the evaluation of Relax operators, by name without ``relax.``."""

    def register(evaluator: Evaluator) -> Evaluator:
        for name in names:
            OPERATORS[f"relax.{name}"] = evaluator
        return evaluator

    return register
