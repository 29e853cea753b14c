"""What the caller says about a torch model's inputs, and example tensors made from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from forge.errors import InvalidInput
from forge.specs import Dim, TensorSpec, check_specs

HINT = 'give it as [("input0", (1, 3, 224, 224))], with an optional dtype as a third item'
_DTYPES = {
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "float32": torch.float32,
    "float64": torch.float64,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint8": torch.uint8,
    "bool": torch.bool,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}

# Example sizes for symbolic dimensions, tried in turn: torch.export treats 0 and 1 as
# special, two names must not share a size, and a small image vanishes in a deep network.
_EXAMPLE_SIZES = (2, 16, 64, 224)


def torch_dtype(name: str) -> torch.dtype:
    """Give torch's dtype of a numpy dtype name."""
    return _DTYPES[name]


def dtype_name(dtype: torch.dtype, what: str) -> str:
    """Give the numpy dtype name of torch's dtype.

    Raises:
        InvalidInput: TVM has no such dtype (complex and quantised ones).
    """
    if dtype not in _NAMES:
        raise InvalidInput(
            f"{what} has the dtype {dtype}.", hint=f"TVM knows {', '.join(sorted(_DTYPES))}"
        )
    return _NAMES[dtype]


def parse_input_info(input_info: Any) -> tuple[TensorSpec, ...]:
    """Read ``[(name, shape[, dtype]), ...]``.

    A shape holds ints and, for symbolic dimensions, names. The dtype is a string or a
    ``torch.dtype``; float32 where left out.

    Raises:
        InvalidInput: It is anything else, or two inputs have one name.
    """
    if isinstance(input_info, (str, bytes, Mapping)) or not isinstance(input_info, Sequence):
        raise InvalidInput(
            f"input_info is a {type(input_info).__name__}, not a list of (name, shape).", hint=HINT
        )
    if len(input_info) in (2, 3) and isinstance(input_info[0], str):
        raise InvalidInput(
            f"input_info is {tuple(input_info)!r}, one entry and not a list of entries.", hint=HINT
        )
    specs = tuple(_parse_entry(entry, index) for index, entry in enumerate(input_info))
    names = [spec.name for spec in specs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InvalidInput(f"input_info names {', '.join(map(repr, twice))} more than once.")
    check_specs(specs)
    return specs


def _parse_entry(entry: Any, index: int) -> TensorSpec:
    where = f"input_info[{index}] is {entry!r}"
    if not isinstance(entry, (tuple, list)) or len(entry) not in (2, 3):
        raise InvalidInput(f"{where}, expected (name, shape) or (name, shape, dtype).", hint=HINT)
    name, shape = entry[0], entry[1]
    if not isinstance(name, str) or not name:
        raise InvalidInput(f"{where}: its name is not a text.", hint=HINT)
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        raise InvalidInput(f"{where}: its shape is not a tuple.", hint=HINT)
    dims: list[Dim] = []
    for dim in shape:
        if isinstance(dim, bool) or not (isinstance(dim, str) or hasattr(dim, "__index__")):
            raise InvalidInput(
                f"{where}: its dimension {dim!r} is neither an int nor a name.",
                hint="write a symbolic dimension as a name, for example ('N', 3, 224, 224)",
            )
        dims.append(dim if isinstance(dim, str) else int(dim))
    return TensorSpec(name, tuple(dims), _parse_dtype(entry[2] if len(entry) > 2 else None, where))


def _parse_dtype(dtype: Any, where: str) -> str:
    if dtype is None:
        return "float32"
    if isinstance(dtype, str):
        dtype = getattr(torch, dtype.removeprefix("torch."), dtype)
    if isinstance(dtype, torch.dtype) and dtype in _NAMES:
        return _NAMES[dtype]
    raise InvalidInput(
        f"{where}: its dtype is none that TVM knows.",
        hint=f"use one of {', '.join(sorted(_DTYPES))}, or a torch.dtype",
    )


def symbols(specs: Sequence[TensorSpec]) -> tuple[str, ...]:
    """List the symbolic dimensions, each once, in order of appearance."""
    return tuple(dict.fromkeys(dim for spec in specs for dim in spec.shape if isinstance(dim, str)))


def example_sizes(specs: Sequence[TensorSpec]) -> list[dict[str, int]]:
    """Give assignments of sizes to the symbolic dimensions, to be tried in turn."""
    names = symbols(specs)
    if not names:
        return [{}]
    return [{name: size + index for index, name in enumerate(names)} for size in _EXAMPLE_SIZES]


def example_tensors(
    specs: Sequence[TensorSpec], sizes: Mapping[str, int]
) -> tuple[torch.Tensor, ...]:
    """Make one tensor an input: random floats, zeros of any other dtype (valid indices)."""
    generator = torch.Generator().manual_seed(0)
    tensors = []
    for spec in specs:
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in spec.shape]
        dtype = _DTYPES[spec.dtype]
        if dtype.is_floating_point:
            tensors.append(torch.rand(shape, generator=generator).to(dtype))
        else:
            tensors.append(torch.zeros(shape, dtype=dtype))
    return tuple(tensors)


def dynamic_shapes(
    specs: Sequence[TensorSpec], lowest: Mapping[str, int]
) -> tuple[dict[int, Any] | None, ...] | None:
    """Say to ``torch.export`` which dimensions stay symbolic; None when all are static.

    Args:
        specs: The inputs.
        lowest: The least size of a dimension where it is more than 1.
    """
    dims = {name: torch.export.Dim(name, min=lowest.get(name, 1)) for name in symbols(specs)}
    if not dims:
        return None
    return tuple(
        {axis: dims[dim] for axis, dim in enumerate(spec.shape) if isinstance(dim, str)} or None
        for spec in specs
    )
