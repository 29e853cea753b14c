"""Take the constants out of a module, so that they bypass JSON, and put them back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import relax

from forge import _tvm


def extract_constants(module: Any) -> tuple[Any, list[Any]]:
    """Replace the payload of each tensor constant by its index; equal payloads share one.

    Returns:
        The module, and one ``tvm.runtime.Tensor`` an index.
    """
    tensors: list[Any] = []
    index_of: dict[Any, int] = {}

    def to_index(constant: Any) -> Any:
        key = constant.value
        if key not in index_of:
            index_of[key] = len(tensors)
            tensors.append(key)
        return tvm.runtime.tensor(np.array(index_of[key], dtype="int64"))

    return _replace_payloads(module, to_index), tensors


def restore_constants(module: Any, tensors: Sequence[Any]) -> Any:
    """Undo ``extract_constants``.

    Raises:
        IndexError, ValueError: The payloads do not belong to this module.
    """

    def to_tensor(constant: Any) -> Any:
        index = int(constant.value.numpy())
        if index < 0:
            raise IndexError(f"constant {index}")
        tensor = tensors[index]
        if (tuple(tensor.shape), str(tensor.dtype)) != (
            _tvm.dims_of(constant.ty),
            _tvm.dtype_of(constant.ty),
        ):
            raise ValueError(f"constant {index} is {tensor.dtype}{tensor.shape}, not {constant.ty}")
        return tensor

    return _replace_payloads(module, to_tensor)


def _replace_payloads(module: Any, payload: Callable[[Any], Any]) -> Any:
    @relax.expr_functor.mutator
    class Replace(relax.PyExprMutator):  # type: ignore[misc]
        def visit_generic_const_(self, constant: Any) -> Any:
            if not isinstance(constant.value, tvm.runtime.Tensor):
                return constant
            return _tvm.Constant(payload(constant), constant.ty)

    mutator = Replace(module)
    for name, function in module.functions.items():
        if isinstance(function, relax.Function):
            mutator.builder_.update_func(name, mutator.visit_expr(function))
    return mutator.builder_.get()
