"""The bindings of one Relax function: who defines a variable, who reads it, what replaces it."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from forge.passes import bindings
from forge.passes.affine import BATCH_NORM, is_call
from forge.passes.bindings import handle
from forge.passes.constants import ConstantFinder
from forge.passes.layers import is_layer


class Scope:
    """What a function's bindings are now, while they are being replaced.

    Attributes:
        constants: Finds the values of constant expressions.
        layers: The variables bound to convolutions and matrix products, in order.
        norms: The bindings of batch norms, in order.
    """

    def __init__(self, function: Any) -> None:
        self.constants = ConstantFinder()
        self.layers: list[Any] = []
        self.norms: list[Any] = []
        self._bindings: dict[int, Any] = {}
        self._regions: dict[int, int] = {}
        self._in_dataflow: set[int] = set()
        self._readers: dict[int, list[Any]] = {}
        self._replaced: dict[int, list[tuple[Any, Any]]] = {}
        self._values: dict[int, Any] = {}
        self._collect(function.body)

    def value(self, var: Any) -> Any:
        """Give what a variable is bound to now; None for a parameter."""
        return self._values.get(handle(var))

    def binding(self, var: Any) -> Any:
        """Give the binding of a variable as the function has it; None for a parameter."""
        return self._bindings.get(handle(var))

    def readers(self, var: Any) -> list[Any]:
        """List the bindings that read a variable, once a use; None stands for any other use."""
        return self._readers.get(handle(var), [])

    def only_reader(self, var: Any) -> Any:
        """Give the binding that alone reads a variable, and once; else None."""
        readers = self.readers(var)
        if len(readers) != 1 or readers[0] is None:
            return None
        return readers[0] if self._together(var, readers[0].var) else None

    def normalized(self, norm_var: Any) -> Any:
        """Give the variable that holds a batch norm's first result, if no other one is read."""
        reader = self.only_reader(norm_var)
        if reader is None or not isinstance(reader.value, tvm.ir.TupleGetItem):
            return None
        return reader.var if int(reader.value.index) == 0 else None

    def new_variable(self, like: Any, name: str, value_type: Any) -> Any:
        """Make a variable that can stand before ``like`` in its block."""
        kind = relax.DataflowVar if handle(like) in self._in_dataflow else relax.Var
        return kind(name, value_type)

    def replace(
        self, var: Any, value: Any, before: tuple[tuple[Any, Any], ...] = (), reads: Any = None
    ) -> None:
        """Bind a variable to another value.

        Args:
            before: Further bindings to put before it.
            reads: A variable whose only reader the new value is from now on.
        """
        key = handle(var)
        self._replaced[key] = [*before, (var, value)]
        for bound, bound_value in self._replaced[key]:
            self._values[handle(bound)] = bound_value
            self._bindings[handle(bound)] = relax.VarBinding(bound, bound_value)
            self._regions[handle(bound)] = self._regions[key]
            self.constants.define(bound, bound_value)
        if reads is not None:
            self._readers[handle(reads)] = [self._bindings[key]]

    def rebuilt(self, function: Any) -> Any:
        """Build the function anew with what was replaced."""
        if not self._replaced:
            return function
        return bindings.with_body(function, self._rebuild(function.body))

    def _together(self, one: Any, other: Any) -> bool:
        return self._regions.get(handle(one)) == self._regions.get(handle(other))

    def _collect(self, expr: Any) -> None:
        if not isinstance(expr, relax.SeqExpr):
            self._read(expr, None)
            return
        region = handle(expr)
        for block in expr.blocks:
            dataflow = isinstance(block, relax.DataflowBlock)
            for binding in block.bindings:
                self._collect_binding(binding, region, dataflow)
        self._read(expr.body, None)

    def _collect_binding(self, binding: Any, region: int, dataflow: bool) -> None:
        var, value = binding.var, binding.value
        key = handle(var)
        self._bindings[key] = binding
        self._regions[key] = region
        if dataflow:
            self._in_dataflow.add(key)
        if isinstance(value, relax.If):
            self._read(value.cond, None)
            self._collect(value.true_branch)
            self._collect(value.false_branch)
            return
        if isinstance(value, relax.Function):
            self._collect(value.body)
            return
        if isinstance(binding, relax.MatchCast):
            self._read(value, None)
            return
        self._read(value, binding)
        self._values[key] = value
        self.constants.define(var, value)
        if is_layer(value):
            self.layers.append(var)
        elif is_call(value, BATCH_NORM):
            self.norms.append(binding)

    def _read(self, expr: Any, binding: Any) -> None:
        for var in bindings.used_variables(expr):
            self._readers.setdefault(handle(var), []).append(binding)

    def _rebuild(self, expr: Any) -> Any:
        if not isinstance(expr, relax.SeqExpr):
            return expr
        blocks = []
        for block in expr.blocks:
            rebuilt = []
            for binding in block.bindings:
                replaced = self._replaced.get(handle(binding.var))
                if replaced is None:
                    rebuilt.append(bindings.bind(binding, self._rebuild_value(binding.value)))
                else:
                    rebuilt += [relax.VarBinding(var, value) for var, value in replaced]
            blocks.append((block, rebuilt))
        return bindings.sequence(blocks, expr.body, expr)

    def _rebuild_value(self, value: Any) -> Any:
        if isinstance(value, relax.If):
            return bindings.branch(
                value,
                value.cond,
                self._rebuild(value.true_branch),
                self._rebuild(value.false_branch),
            )
        if isinstance(value, relax.Function):
            return bindings.with_body(value, self._rebuild(value.body))
        return value
