"""Evaluate the low-level functions that TVM's frontends call through ``call_tir``.

They are computations of TVM's operator library in their first form: blocks in a nest of loops,
each of which writes one element, or adds to it. The loops over elements run as one numpy
expression, the loops of a reduction one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np
import tvm
from tvm import tirx

from forge.evaluate.expressions import Mask, Scope, unknown_parts
from forge.evaluate.registry import NotEvaluable

_BLOCK = tvm.s_tir.SBlockRealize
_SPATIAL, _REDUCED = 0, 2


def evaluate_primfunc(
    function: Any,
    args: Sequence[np.ndarray | int | float],
    results: int = 1,
    width: np.dtype | None = None,
) -> tuple[np.ndarray, ...]:
    """Run a low-level function.

    Args:
        function: A ``tvm.tirx.PrimFunc``, as it is before any schedule.
        args: The tensors and scalars that its first parameters take.
        results: How many parameters behind them are its results.
        width: Evaluate floating-point numbers in this dtype instead of the program's own.

    Returns:
        What it writes into each result.

    Raises:
        NotEvaluable: It does what is not known here, reads beyond a buffer, divides by zero.
    """
    run = _Run(width)
    params = list(function.params)
    if len(params) != len(args) + results:
        raise NotEvaluable(f"{len(params)} parameters")
    for param, value in zip(params, args, strict=False):
        if isinstance(value, np.ndarray):
            run.enter(param, value)
        else:
            run.scope.bind(param, value)
    buffers = [run.allocate(param) for param in params[len(args) :]]
    with np.errstate(all="ignore"):
        run.statement(function.body)
    return tuple(buffers)


class _Run:
    def __init__(self, width: np.dtype | None) -> None:
        self.scope = Scope(width)

    def enter(self, buffer: Any, value: np.ndarray) -> None:
        """Bind an array to a buffer, and what is symbolic in its shape."""
        if len(buffer.shape) != value.ndim:
            raise NotEvaluable(f"a tensor of {value.shape} as {buffer.name}")
        self.scope.buffers[buffer.__chandle__()] = value
        for dim, size in zip(buffer.shape, value.shape, strict=True):
            if isinstance(dim, tvm.ir.Var) and dim.__chandle__() not in self.scope.scalars:
                self.scope.bind(dim, np.int64(size))

    def allocate(self, buffer: Any) -> np.ndarray:
        shape = tuple(int(self.scope.value(dim)) for dim in buffer.shape)
        array = np.zeros(shape, self.scope.dtype_of(str(buffer.dtype)))
        self.scope.buffers[buffer.__chandle__()] = array
        return array

    def statement(self, statement: Any) -> None:
        if isinstance(statement, tirx.SeqStmt):
            for part in statement.seq:
                self.statement(part)
        elif isinstance(statement, _BLOCK) and not len(statement.iter_values):
            for buffer in statement.block.alloc_buffers:
                self.allocate(buffer)
            self.statement(statement.block.body)
        elif isinstance(statement, tirx.For):
            loops, inner = _nest(statement)
            if not isinstance(inner, _BLOCK):
                raise NotEvaluable(f"a loop over {type(inner).__name__}")
            self._block(loops, inner)
        elif isinstance(statement, tirx.BufferStore):
            self._store(statement, None)
        else:
            raise NotEvaluable(f"a statement of {type(statement).__name__}")

    def _block(self, loops: Sequence[Any], realize: Any) -> None:
        block = realize.block
        reduced = _reduced_variables(realize)
        inner = [loop for loop in loops if loop.loop_var.__chandle__() in reduced]
        outer = [loop for loop in loops if loop.loop_var.__chandle__() not in reduced]
        for place, loop in enumerate(outer):
            shape = [1] * len(outer)
            shape[place] = -1
            self.scope.bind(loop.loop_var, self._range(loop).reshape(shape))
        ranges = [self._range(loop) for loop in inner]
        if not all(map(len, ranges)):
            raise NotEvaluable("a reduction of nothing")
        for step, places in enumerate(product(*ranges)):
            for loop, place in zip(inner, places, strict=True):
                self.scope.bind(loop.loop_var, place)
            for variable, value in zip(block.iter_vars, realize.iter_values, strict=True):
                self.scope.bind(variable.var, self.scope.value(value))
            mask = self.scope.value(realize.predicate)
            if block.init is not None and step == 0:
                self._stores(block.init, mask)
            self._stores(block.body, mask)

    def _range(self, loop: Any) -> np.ndarray:
        first, count = self.scope.value(loop.min), self.scope.value(loop.extent)
        return np.arange(int(first), int(first + count), dtype=self.scope.dtype(loop.loop_var))

    def _stores(self, body: Any, mask: np.ndarray) -> None:
        for part in body.seq if isinstance(body, tirx.SeqStmt) else [body]:
            if not isinstance(part, tirx.BufferStore):
                raise NotEvaluable(f"a block of {type(part).__name__}")
            self._store(part, None if np.all(mask) else mask)

    def _store(self, store: Any, mask: Mask) -> None:
        target = self.scope.buffer(store.buffer)
        indices = self.scope.indices(store.indices, target.shape, mask)
        value = self.scope.value(store.value, mask)
        if mask is None:
            target[indices] = value
        else:
            parts = np.broadcast_arrays(mask, value, *indices)
            kept = parts[0]
            target[tuple(index[kept] for index in parts[2:])] = parts[1][kept]


def _nest(loop: Any) -> tuple[list[Any], Any]:
    """List loops that hold nothing but one another, and what the innermost holds."""
    loops = []
    while isinstance(loop, tirx.For):
        loops.append(loop)
        loop = loop.body
    return loops, loop


def _reduced_variables(realize: Any) -> set[int]:
    """Find the loop variables that a reduction runs over.

    Raises:
        NotEvaluable: A loop is neither over elements nor over what is combined into one.
    """
    found: set[int] = set()
    for variable, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
        kind = int(variable.iter_type)
        if kind == _REDUCED:
            if not isinstance(value, tvm.ir.Var | tirx.IntImm):
                raise NotEvaluable("a reduction over a computed index")
            found.add(value.__chandle__())
        elif kind != _SPATIAL:
            raise NotEvaluable("a loop whose order matters")
    return found


def unknown_statements(statement: Any) -> Iterator[str]:
    """Name what in the body of a low-level function cannot be evaluated."""
    if isinstance(statement, tirx.SeqStmt):
        for part in statement.seq:
            yield from unknown_statements(part)
    elif isinstance(statement, tirx.For):
        _, inner = _nest(statement)
        if isinstance(inner, _BLOCK):
            yield from unknown_statements(inner)
        else:
            yield type(inner).__name__
    elif isinstance(statement, _BLOCK):
        if statement.block.init is not None:
            yield from unknown_statements(statement.block.init)
        yield from unknown_statements(statement.block.body)
    elif isinstance(statement, tirx.BufferStore):
        for part in (*statement.indices, statement.value):
            yield from unknown_parts(part)
    else:
        yield type(statement).__name__
