"""Evaluate a whole Relax function with numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from numpy.typing import DTypeLike
from tvm import relax

from forge.errors import InvalidInput
from forge.evaluate.dims import Dims
from forge.evaluate.dispatch import evaluate_call
from forge.evaluate.inventory import callee
from forge.evaluate.primfunc import evaluate_primfunc
from forge.evaluate.registry import NotEvaluable
from forge.evaluate.values import Shape, Value, array_of, is_floating, numpy_dtype
from forge.evaluate.work import estimated_work

Observer = Callable[[str, Value], None]


def evaluate_function(
    module: Any,
    inputs: Sequence[np.ndarray],
    name: str = "main",
    width: DTypeLike | None = None,
    *,
    work_limit: int | None = None,
    observe: Observer | None = None,
) -> Value:
    """Run a Relax function operator by operator, without compiling anything.

    Values that nothing reads any more are let go, so that a deep network does not keep all of
    its activations.

    Args:
        module: A ``tvm.IRModule``.
        inputs: One array a parameter, of its dtype and shape; of any floating-point dtype
            where ``width`` is given.
        name: Which function.
        width: Evaluate all floating-point numbers in this dtype, for example ``np.float64``,
            instead of the program's own: weights, inputs and everything computed from them.
        work_limit: Refuse a function whose ``estimated_work`` is more.
        observe: Called with each variable's name and value as it is computed.

    Returns:
        An array, or a tuple of such as the function returns one.

    Raises:
        InvalidInput: The inputs are not what the function takes.
        NotEvaluable: An operator is not known or has no defined value on these inputs, which
            the message and ``operator`` name; or the work is over the limit.
    """
    wide = None if width is None else np.dtype(width)
    function = module[name]
    _check(function, inputs, wide)
    if work_limit is not None:
        work = estimated_work(module, name, [array.shape for array in inputs])
        if work > work_limit:
            raise NotEvaluable(f"some {work:.1e} operations, over the limit of {work_limit:.1e}")
    run = _Run(module, wide, observe)
    try:
        return run.call(function, [run.widened(array) for array in inputs], {})
    except RecursionError as error:
        raise NotEvaluable("a loop of more steps than Python can nest") from error


def _check(function: Any, inputs: Sequence[np.ndarray], width: np.dtype | None) -> None:
    dims = Dims()
    if len(inputs) != len(function.params):
        raise InvalidInput(f"{len(inputs)} inputs for {len(function.params)} parameters.")
    for param, array in zip(function.params, inputs, strict=True):
        if not isinstance(param.ty, relax.TensorType):
            continue
        expected = numpy_dtype(str(param.ty.dtype))
        widened = width is not None and is_floating(expected) and is_floating(array.dtype)
        if array.dtype != expected and not widened:
            raise InvalidInput(f"input {param.name} is {array.dtype}, expected {expected}.")
        try:
            dims.learn(param.ty, array)
        except NotEvaluable as error:
            raise InvalidInput(f"input {param.name} is of {error}.") from error


class _Closure:
    """A function that is bound to a variable, with the variables it may read."""

    def __init__(self, function: Any, variables: dict[int, Any]) -> None:
        self.function = function
        self.variables = variables


class _Run:
    """One evaluation of a module."""

    def __init__(self, module: Any, width: np.dtype | None, observe: Observer | None) -> None:
        self.module = module
        self.width = width
        self.observe = observe
        self.last_uses: dict[int, list[list[int]]] = {}

    def widened(self, array: np.ndarray) -> np.ndarray:
        if self.width is not None and is_floating(array.dtype):
            return array.astype(self.width, copy=False)
        return array

    def call(self, function: Any, args: Sequence[Value], variables: dict[int, Any]) -> Value:
        frame = _Frame(self, dict(variables))
        for param, value in zip(function.params, args, strict=True):
            frame.dims.learn(param.ty, value)
            frame.variables[param.__chandle__()] = value
        return frame.value(function.body)

    def primfunc(self, call: Any, args: Value) -> Value:
        """Evaluate a ``call_tir`` on the values of its tuple of arguments."""
        many = isinstance(call.ty, relax.TupleType)
        results = evaluate_primfunc(
            self.module[call.args[0]],
            args,  # type: ignore[arg-type]
            len(call.ty.fields) if many else 1,
            self.width,
        )
        return results if many else results[0]


class _Frame:
    """One call of a function: its variables and its dimensions."""

    def __init__(self, run: _Run, variables: dict[int, Any]) -> None:
        self.run = run
        self.variables = variables
        self.dims = Dims()

    def _sequence(self, sequence: Any) -> Value:
        last_uses = self.run.last_uses.get(sequence.__chandle__())
        if last_uses is None:
            last_uses = self.run.last_uses[sequence.__chandle__()] = _last_uses(sequence)
        position = 0
        for block in sequence.blocks:
            for binding in block.bindings:
                self._bind(binding)
                for variable in last_uses[position]:
                    del self.variables[variable]
                position += 1
        return self.value(sequence.body)

    def _bind(self, binding: Any) -> None:
        value = self.value(binding.value)
        if isinstance(binding, relax.MatchCast):
            self.dims.learn(binding.ty, value)
        self.variables[binding.var.__chandle__()] = value
        if self.run.observe is not None and not isinstance(value, _Closure):
            self.run.observe(str(binding.var.name), value)

    def value(self, expr: Any) -> Value:
        if isinstance(expr, relax.SeqExpr):
            return self._sequence(expr)
        if isinstance(expr, tvm.ir.Var):
            key = expr.__chandle__()
            return self.variables[key] if key in self.variables else self._scalar(expr)
        if isinstance(expr, tvm.ir.GenericConst):
            return self.run.widened(array_of(expr))
        if isinstance(expr, tvm.ir.Tuple):
            return tuple(self.value(field) for field in expr.fields)
        if isinstance(expr, tvm.ir.TupleGetItem):
            whole = self.value(expr.tuple_value)
            assert isinstance(whole, tuple)
            return whole[int(expr.index)]
        if isinstance(expr, relax.ShapeExpr):
            return Shape(int(self._scalar(dim)) for dim in expr.values)
        if isinstance(expr, relax.If):
            taken = bool(np.asarray(self.value(expr.cond)))
            return self.value(expr.true_branch if taken else expr.false_branch)
        if isinstance(expr, relax.Function):
            return _Closure(expr, dict(self.variables))  # type: ignore[return-value]
        if isinstance(expr, tvm.ir.Call):
            return self._call(expr)
        if isinstance(expr, tvm.ir.StringImm):
            return str(expr.value)
        if tvm.ir.is_prim_expr(expr):
            return self._scalar(expr)
        raise NotEvaluable(f"an expression of {type(expr).__name__}")

    def _call(self, call: Any) -> Value:
        if isinstance(call.op, tvm.ir.GlobalVar):
            function = self.run.module[call.op]
            if isinstance(function, relax.Function):
                return self.run.call(function, [self.value(arg) for arg in call.args], {})
        elif isinstance(call.op, tvm.ir.Var):
            closure = self.variables[call.op.__chandle__()]
            args = [self.value(arg) for arg in call.args]
            return self.run.call(closure.function, args, closure.variables)
        try:
            if isinstance(call.op, tvm.ir.Op):
                if call.op.name == "relax.call_tir":
                    return self.run.primfunc(call, self.value(call.args[1]))
                args = [self.value(arg) for arg in call.args]
                return evaluate_call(call, args, width=self.run.width)
        except NotEvaluable as error:
            raise NotEvaluable(error.reason, error.operator or callee(call)) from error
        raise NotEvaluable("a function that is not Relax", callee(call))

    def _scalar(self, expr: Any) -> int | float:
        number = self.dims.number(expr)
        if number is None:
            raise NotEvaluable(f"the scalar {expr} is not known")
        return number


def _last_uses(sequence: Any) -> list[list[int]]:
    """List, for each binding of a sequence, the variables of it that nothing reads later."""
    bindings = [binding for block in sequence.blocks for binding in block.bindings]
    own = {binding.var.__chandle__() for binding in bindings}
    later = {variable.__chandle__() for variable in relax.analysis.free_vars(sequence.body)}
    result: list[list[int]] = []
    for binding in reversed(bindings):
        used = {variable.__chandle__() for variable in relax.analysis.free_vars(binding.value)}
        used.add(binding.var.__chandle__())
        result.append([variable for variable in used - later if variable in own])
        later |= used
    return result[::-1]
