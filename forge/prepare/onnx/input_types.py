"""Write the caller's shapes and dtypes into the graph's inputs, and name every open dimension.

TVM 0.25–0.27 ignores wrong keys and a dtype given as text without a word, takes no named dimension
in ``shape_dict``, and gives all unnamed dimensions one variable, which makes them equal.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from forge.errors import InvalidInput
from forge.prepare.onnx.graphs import model_inputs
from forge.specs import Dim, Step, TensorSpec, describe


def input_specs(graph: Any) -> tuple[TensorSpec, ...]:
    """Describe the graph's inputs; an unnamed dimension is ``?``.

    Raises:
        InvalidInput: An input that is no numeric tensor, or one without a declared rank.
    """
    return tuple(_spec(value) for value in model_inputs(graph))


def apply_input_types(
    graph: Any,
    shape_dict: Mapping[str, Sequence[Dim]] | None,
    dtype_dict: Mapping[str, str] | None,
) -> Step:
    """Set shapes and dtypes of the inputs in place.

    Raises:
        InvalidInput: An unknown input name, a wrong rank, a dimension that contradicts the
            model, or an unknown dtype.
    """
    inputs = {value.name: value for value in model_inputs(graph)}
    shapes, dtypes = dict(shape_dict or {}), dict(dtype_dict or {})
    for label, given in (("shape_dict", shapes), ("dtype_dict", dtypes)):
        unknown = [repr(name) for name in given if name not in inputs]
        if unknown:
            known = ", ".join(_readable(value) for value in inputs.values()) or "none"
            raise InvalidInput(
                f"{label} names {', '.join(unknown)}, which the model has not.",
                hint=f"the model's inputs are {known}",
            )
    for name, dtype in dtypes.items():
        inputs[name].type.tensor_type.elem_type = _element_type(name, dtype)
    for name, shape in shapes.items():
        _set_shape(inputs[name], tuple(shape))
    _refuse_empty(inputs.values())
    named = _name_open_dims(inputs.values())
    return Step(
        "input-types",
        "shapes and dtypes given by the caller; TVM makes unnamed dimensions equal",
        len(shapes) + len(dtypes) + named,
    )


def _refuse_empty(values: Iterable[Any]) -> None:
    """TVM's frontend takes a dimension of size 0 for an open one."""
    for value in values:
        if any(
            dim.HasField("dim_value") and not dim.dim_value
            for dim in value.type.tensor_type.shape.dim
        ):
            raise InvalidInput(
                f"input {_readable(value)} has a dimension of size 0, which TVM cannot hold.",
                hint="give a shape without it in shape_dict, if the model allows one",
            )


def _spec(value: Any) -> TensorSpec:
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value") or "nothing declared"
        raise InvalidInput(f"input {value.name!r} is no tensor ({kind}); Forge loads tensors only.")
    tensor = value.type.tensor_type
    if tensor.elem_type in (TensorProto.UNDEFINED, TensorProto.STRING):
        raise InvalidInput(
            f"input {value.name!r} has the element type "
            f"{TensorProto.DataType.Name(tensor.elem_type)}, which TVM cannot hold."
        )
    if not tensor.HasField("shape"):
        raise InvalidInput(
            f"input {value.name!r} has no declared rank.",
            hint=f"give it: shape_dict={{{value.name!r}: (1, 3, 224, 224)}}, for example",
        )
    # Some exporters write an open dimension as -1.
    dims = tuple(
        int(dim.dim_value) if _is_static(dim) else (dim.dim_param or "?")
        for dim in tensor.shape.dim
    )
    return TensorSpec(value.name, dims, np.dtype(_numpy_type(tensor.elem_type)).name)


def _is_static(dim: Any) -> bool:
    return bool(dim.HasField("dim_value") and dim.dim_value >= 0)


def _numpy_type(element_type: int) -> Any:
    return helper.tensor_dtype_to_np_dtype(element_type)


def _readable(value: Any) -> str:
    try:
        return str(_spec(value))
    except InvalidInput:
        return str(value.name)


def _element_type(name: str, dtype: str) -> int:
    try:
        wanted = np.dtype(dtype)
        if wanted.kind not in "fiubV":
            raise ValueError(f"TVM holds no {wanted}")
        return int(helper.np_dtype_to_tensor_dtype(wanted))
    except (TypeError, ValueError, KeyError) as error:
        raise InvalidInput(
            f"dtype_dict gives input {name!r} the dtype {dtype!r}.",
            hint="a dtype is a numpy name such as 'float32', 'int64' or 'bool'",
        ) from error


def _set_shape(value: Any, shape: tuple[Dim, ...]) -> None:
    tensor = value.type.tensor_type
    declared = _spec(value).shape if tensor.HasField("shape") else None
    usable = all(
        (isinstance(dim, str) and dim.isidentifier())
        or (isinstance(dim, (int, np.integer)) and not isinstance(dim, bool) and dim >= 0)
        for dim in shape
    )
    fits = declared is None or (
        len(declared) == len(shape)
        and all(isinstance(d, str) or d == s for d, s in zip(declared, shape))
    )
    if not usable or not fits:
        expected = describe([_spec(value)]) if declared is not None else "dims of at least 0"
        raise InvalidInput(
            f"shape_dict gives input {value.name!r} the shape {shape}; the model has {expected}.",
            hint="a static dimension cannot change; an open one takes an int or a name",
        )
    tensor.shape.ClearField("dim")
    for dim in shape:
        entry = tensor.shape.dim.add()
        if isinstance(dim, str):
            entry.dim_param = dim
        else:
            entry.dim_value = int(dim)


def _name_open_dims(values: Any) -> int:
    taken = {d.dim_param for v in values for d in v.type.tensor_type.shape.dim if d.dim_param}
    count = 0
    for value in values:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if _is_static(dim):
                continue
            if dim.dim_param and dim.dim_param.isidentifier():
                continue
            base = "".join(c if c.isalnum() else "_" for c in dim.dim_param or value.name)
            name = base if dim.dim_param else f"{base}_{axis}"
            name = name if name.isidentifier() else f"d_{name}"
            while name in taken:
                name += "_"
            if dim.dim_param:
                _rename(values, str(dim.dim_param), name)
            else:
                dim.dim_param = name
            taken.add(name)
            count += 1
    return count


def _rename(values: Any, old: str, new: str) -> None:
    for value in values:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param == old:
                dim.dim_param = new
