"""What the values of Relax expressions are in Python: arrays, shapes, scalars and tuples."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import tvm
from tvm import relax


class Shape(tuple[int, ...]):
    """The value of a Relax shape; a plain tuple is the value of a Relax tuple."""

    __slots__ = ()


Value: TypeAlias = "np.ndarray | Shape | tuple[Value, ...] | int | float | str"


@cache
def numpy_dtype(name: str) -> np.dtype:
    """Find the numpy dtype of a TVM dtype name, with ``ml_dtypes`` for what numpy lacks.

    Raises:
        TypeError: There is none, as for vectors and handles.
    """
    found: np.dtype = np.dtype(getattr(ml_dtypes, name, name))
    return found


def is_floating(dtype: np.dtype) -> bool:
    """Tell whether a dtype holds floating-point numbers, of ``ml_dtypes`` too."""
    return dtype.kind == "f" or (dtype.kind == "V" and dtype.name.startswith(("bfloat", "float")))


def lowest(dtype: np.dtype) -> Any:
    """Give the value that every other of a dtype is at least: what a maximum starts from."""
    if is_floating(dtype):
        return dtype.type(-np.inf)
    return False if dtype.kind == "b" else np.iinfo(dtype).min


def array_of(constant: Any) -> np.ndarray:
    """View the value of a Relax constant; read-only, without a copy where numpy can share it.

    Raises:
        TypeError: numpy has no such dtype.
    """
    tensor = constant.value
    dtype = numpy_dtype(str(tensor.dtype))
    if dtype.itemsize and dtype.kind == "V":
        if dtype.name.startswith(("int", "uint", "float4")):
            raise TypeError(f"{dtype.name} is packed")
        array: np.ndarray = tensor.numpy()
    else:
        array = np.from_dlpack(tensor)
    array.flags.writeable = False
    return array


def static_shape(tensor_type: Any) -> tuple[int, ...] | None:
    """Give the shape of a tensor type whose dimensions are all known, else None."""
    shape = tensor_type.shape
    if not isinstance(shape, relax.ShapeExpr):
        return None
    return static_dims(shape)


def static_dims(shape: Any) -> Shape | None:
    """Give the dimensions of a ``ShapeExpr`` that are all known, else None."""
    dims = []
    for dim in shape.values:
        if not isinstance(dim, tvm.tirx.IntImm):
            return None
        dims.append(int(dim))
    return Shape(dims)


def size_in_bytes(value_type: Any) -> int | None:
    """Tell how many bytes values of a type take; None where its shape or dtype is not known."""
    if isinstance(value_type, relax.TupleType):
        sizes = [size_in_bytes(field) for field in value_type.fields]
        return None if None in sizes else sum(size for size in sizes if size is not None)
    if isinstance(value_type, relax.TensorType):
        shape = static_shape(value_type)
        if shape is None:
            return None
        count = 1
        for dim in shape:
            count *= dim
        try:
            return count * numpy_dtype(str(value_type.dtype)).itemsize
        except TypeError:
            return None
    return 0


def has_type(value: Value, value_type: Any) -> bool:
    """Tell whether a value is exactly of a Relax type: kind, dtype and every dimension."""
    if isinstance(value_type, relax.TensorType):
        return (
            isinstance(value, np.ndarray)
            and value.dtype == numpy_dtype(str(value_type.dtype))
            and static_shape(value_type) == value.shape
        )
    if isinstance(value_type, relax.ShapeType):
        if not isinstance(value, Shape):
            return False
        if value_type.values is None:
            return int(value_type.ndim) in (-1, len(value))
        return static_dims(relax.ShapeExpr(value_type.values)) == value
    if isinstance(value_type, relax.TupleType):
        return (
            isinstance(value, tuple)
            and not isinstance(value, Shape)
            and len(value) == len(value_type.fields)
            and all(map(has_type, value, value_type.fields))
        )
    return False
