"""The parts of TVM's Python interface whose names differ between releases, under one name each."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import tvm
from tvm import relax

from forge.specs import Dim, TensorSpec

Constant = tvm.ir.GenericConst
TensorType = relax.TensorType
TupleType = relax.TupleType


def constant(array: np.ndarray | np.generic | tvm.runtime.Tensor) -> Any:
    """Make a Relax constant that owns a copy of ``array``, in its dtype.

    ``relax.const`` on a bare numpy array narrows int64 and float64 to 32 bits.
    """
    if not isinstance(array, tvm.runtime.Tensor):
        array = tvm.runtime.tensor(np.ascontiguousarray(array).reshape(np.shape(array)))
    return relax.const(array)


def numpy_of(expr: Any) -> np.ndarray:
    """Copy the value of a Relax constant into a numpy array."""
    return np.asarray(expr.value.numpy())


def dims_of(tensor_type: Any) -> tuple[Dim, ...] | None:
    """Give the shape of a tensor type; None where TVM knows only its rank or nothing."""
    shape = tensor_type.shape
    if not isinstance(shape, relax.ShapeExpr):
        return None
    return tuple(_dim(value) for value in shape.values)


def _dim(value: Any) -> Dim:
    if isinstance(value, tvm.tirx.IntImm):
        return int(value)
    # Printing a variable alone would rename one that is called as TVMScript's own aliases are.
    if isinstance(value, tvm.ir.Var):
        return str(value.name)
    return re.sub(r"T\.int64\((-?\d+)\)", r"\1", str(value))


def dtype_of(tensor_type: Any) -> str:
    return str(tensor_type.dtype)


def flatten_type(value_type: Any) -> list[Any]:
    """List the tensor types of a possibly nested tuple type, left to right."""
    if isinstance(value_type, TupleType):
        return [leaf for field in value_type.fields for leaf in flatten_type(field)]
    return [value_type]


def spec_of(name: str, tensor_type: Any) -> TensorSpec:
    """Describe a tensor type; an unknown dimension is written ``?``."""
    dims = dims_of(tensor_type)
    if dims is None:
        dims = ("?",) * max(int(tensor_type.ndim), 0)
    return TensorSpec(name, dims, dtype_of(tensor_type))
