"""How many roundings stand one behind the other in a module: what its errors may grow with."""

from __future__ import annotations

from math import prod
from typing import Any

import tvm
from tvm import relax

from forge._tvm import dims_of, flatten_type

# A length that is not known when the module is loaded.
_OPEN = 64
# Approximated by polynomials whose error is a few units in the last place.
_TRANSCENDENTAL = frozenset(
    "exp log log2 log10 log1p expm1 tanh sigmoid erf gelu gelu_tanh silu softplus sin cos tan sinh "
    "cosh asin acos atan atan2 asinh acosh atanh power rsqrt mish elu selu hard_swish".split()
)
_APPROXIMATED = 16
# Data is moved, chosen or compared, and never rounded.
_EXACT = frozenset(
    "reshape permute_dims concat split strided_slice dynamic_strided_slice take squeeze "
    "expand_dims broadcast_to tile repeat flip where maximum minimum max min argmax argmin relu "
    "negative abs sign floor ceil clip shape_of tensor_to_shape shape_to_tensor zeros ones full "
    "arange gather_elements gather_nd scatter_elements scatter_nd one_hot pad max_pool1d "
    "max_pool2d max_pool3d less greater equal not_equal less_equal greater_equal logical_and "
    "logical_or logical_not stop_lift_params layout_transform".split()
)


def accumulations(module: Any) -> int:
    """Count the roundings on the longest way through ``main``; at least 1.

    A sum of n products counts n, whether it is a convolution, a product of matrices or a
    reduction; a transcendental function 16; any other arithmetic operator 1; moved data 0. A
    function that is called counts as long as its own longest way, a branch as its longer side, a
    loop once.
    """
    return max(1, _Longest(module).of_function(module["main"]))


class _Longest:
    def __init__(self, module: Any) -> None:
        self._module = module
        self._counts: dict[int, int] = {}
        self._functions: dict[int, int] = {}

    def of_function(self, function: Any) -> int:
        key = int(function.__chandle__())
        if key not in self._functions:
            self._functions[key] = 0  # what a function that calls itself counts
            self._functions[key] = self._of(function.body)
        return self._functions[key]

    def _of(self, expr: Any) -> int:
        if isinstance(expr, relax.SeqExpr):
            for block in expr.blocks:
                for binding in block.bindings:
                    self._counts[int(binding.var.__chandle__())] = self._of(binding.value)
            return self._of(expr.body)
        if isinstance(expr, tvm.ir.Tuple):
            return max(map(self._of, expr.fields), default=0)
        if isinstance(expr, tvm.ir.TupleGetItem):
            return self._of(expr.tuple_value)
        if isinstance(expr, relax.If):
            return max(map(self._of, (expr.cond, expr.true_branch, expr.false_branch)))
        if isinstance(expr, tvm.ir.Call):
            return max(map(self._of, expr.args), default=0) + self._of_call(expr)
        if isinstance(expr, tvm.ir.Var):
            return self._counts.get(int(expr.__chandle__()), 0)
        return 0

    def _of_call(self, call: Any) -> int:
        if isinstance(call.op, tvm.ir.Op):
            return _roundings(call)
        if isinstance(call.op, tvm.ir.GlobalVar):
            function = self._module[call.op]
            return self.of_function(function) if isinstance(function, relax.Function) else _OPEN
        return self.of_function(call.op) if isinstance(call.op, relax.Function) else 0


def _roundings(call: Any) -> int:
    name = call.op.name.rpartition(".")[2]
    if name in _EXACT:
        return 0
    if name in _TRANSCENDENTAL:
        return _APPROXIMATED
    if name.startswith("conv"):
        weight = _shape(call.args[1])
        if not weight:
            return _OPEN
        return max(1, prod(weight) // max(weight[str(call.attrs.kernel_layout).index("O")], 1))
    if name == "matmul":
        left = _shape(call.args[0])
        return left[-1] if left else _OPEN
    if name == "attention":
        return 2 * _OPEN + _APPROXIMATED
    given, result = _size(call.args[0] if call.args else None), _size(call)
    if "softmax" in name or "norm" in name:
        shape = _shape(call.args[0])
        return (shape[-1] if shape else _OPEN) + _APPROXIMATED if name != "batch_norm" else 4
    if "pool" in name and hasattr(call.attrs, "pool_size"):
        return prod(int(size) for size in call.attrs.pool_size)
    if name in ("sum", "mean", "prod", "variance", "std", "einsum") or "pool" in name:
        return max(1, given // result) if given and result else _OPEN
    if name in ("cumsum", "cumprod"):
        shape = _shape(call.args[0])
        return max(shape, default=1) if shape else _OPEN
    return 1


def _shape(expr: Any) -> tuple[int, ...]:
    if expr is None or not isinstance(expr.ty, relax.TensorType):
        return ()
    return tuple(dim if isinstance(dim, int) else _OPEN for dim in dims_of(expr.ty) or ())


def _size(expr: Any) -> int:
    if expr is None:
        return 0
    return sum(
        prod(dim if isinstance(dim, int) else _OPEN for dim in dims_of(leaf) or ())
        for leaf in flatten_type(expr.ty)
        if isinstance(leaf, relax.TensorType)
    )
