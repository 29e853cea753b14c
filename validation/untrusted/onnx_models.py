"""Read a stranger's ONNX model, and its data from files beside it.

onnx itself reads external data from where the model says; which of ``..``, absolute paths and
links it refuses depends on its version. Here it is read by Forge, and nothing of the kind is left
in the model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation.untrusted.files import check_file, check_growth, inner_path, read_file
from validation.untrusted.onnx_functions import check_functions
from validation.untrusted.protobufs import parse

_HINT = "check that the file was copied whole, and its external data with it"
# Bits an element, by TensorProto.DataType; strings have none.
_BITS = {
    **dict.fromkeys((1, 6, 12), 32),
    **dict.fromkeys((2, 3, 9, 17, 18, 19, 20, 24), 8),
    **dict.fromkeys((4, 5, 10, 16), 16),
    **dict.fromkeys((7, 11, 13, 14), 64),
    **dict.fromkeys((21, 22, 23), 4),
    **dict.fromkeys((25, 26), 2),
    15: 128,
}
_STRING = 8
# Where a type keeps its elements if not in raw_data, and how many entries one element takes.
_FIELDS = {
    **dict.fromkeys((1,), ("float_data", 1)),
    **dict.fromkeys((14,), ("float_data", 2)),
    **dict.fromkeys((7,), ("int64_data", 1)),
    **dict.fromkeys((11,), ("double_data", 1)),
    **dict.fromkeys((15,), ("double_data", 2)),
    **dict.fromkeys((12, 13), ("uint64_data", 1)),
    _STRING: ("string_data", 1),
}
_EXTERNAL = 1


def read_onnx(path: Path) -> Any:
    """Read an ``onnx.ModelProto`` with all of its data in memory.

    Raises:
        InvalidInput: The file is no ONNX model; its data lies outside its folder, behind a link
            or beyond the end of a file; a tensor declares other data than it has; or functions
            call each other without end.
    """
    onnx = require("onnx", "opening an ONNX file")
    model = parse(onnx.ModelProto(), read_file(path), repr(str(path)), "an ONNX model", _HINT)
    if not model.graph.output:
        raise InvalidInput(f"{str(path)!r} holds no ONNX graph with outputs.")
    check_functions(model, str(path))
    taken, stored = 0, {}
    for tensor in tensors_of(model):
        where = f"the tensor {tensor.name!r} of {str(path)!r}"
        if tensor.data_location == _EXTERNAL:
            file, size, offset, length = _place_of(tensor, path.parent, where)
            stored[file] = size
            taken += length
            # Many tensors may name the same bytes.
            check_growth(taken, sum(stored.values()), f"the external data of {str(path)!r}")
            with open(file, "rb") as stream:
                stream.seek(offset)
                tensor.raw_data = stream.read(length)
            del tensor.external_data[:]
            tensor.data_location = 0
        _check_size(tensor, where)
    return model


def tensors_of(message: Any) -> Iterator[Any]:
    """Find every tensor of a model, in whatever graph, function or attribute it stands."""
    pending = [message]
    while pending:
        current = pending.pop()
        if current.DESCRIPTOR.name == "TensorProto":
            yield current
            continue
        for field, value in current.ListFields():
            if field.message_type is None:
                continue
            pending.extend(value if not hasattr(value, "ListFields") else [value])


def _place_of(tensor: Any, folder: Path, where: str) -> tuple[Path, int, int, int]:
    """Find a tensor's external data: the file, its size on disk, the offset and the length."""
    entries = [(entry.key, entry.value) for entry in tensor.external_data]
    fields = dict(entries)
    if len(fields) != len(entries):
        raise InvalidInput(f"{where} says twice where its data is.")
    path = inner_path(folder, fields.get("location", ""), where)
    found = check_file(path)
    size = found.st_size
    offset = _number(fields.get("offset", "0"), f"the offset of {where}")
    length = _number(fields.get("length", str(max(0, size - offset))), f"the length of {where}")
    if offset + length > size:
        raise InvalidInput(
            f"{where} has its data at {offset} to {offset + length} of {str(path)!r}, which has "
            f"{size} bytes.",
            hint=_HINT,
        )
    bits = _BITS.get(tensor.data_type, 0)
    if length > math.ceil(math.prod(tensor.dims) * bits / 8):
        raise InvalidInput(
            f"{where} declares {list(tensor.dims)} and takes {length} bytes of {str(path)!r}.",
            hint=_HINT,
        )
    return path, found.st_blocks * 512, offset, length


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise InvalidInput(f"{what} is {text[:50]!r}, expected a number of bytes.", hint=_HINT)
    return int(text)


def _check_size(tensor: Any, where: str) -> None:
    """Hold what a tensor declares against what it has; readers make room for the former."""
    kind = tensor.data_type
    if kind not in _BITS and kind != _STRING:
        raise InvalidInput(
            f"{where} has the data type {kind}, which this Forge does not know.",
            hint="a newer onnx may have written it",
        )
    if any(dim < 0 for dim in tensor.dims):
        raise InvalidInput(f"{where} has a negative dimension: {list(tensor.dims)}.", hint=_HINT)
    count = math.prod(tensor.dims)
    if tensor.HasField("raw_data") and kind != _STRING:
        wanted, found, unit = math.ceil(count * _BITS[kind] / 8), len(tensor.raw_data), "bytes"
    else:
        name, entries = _FIELDS.get(kind, ("int32_data", 1))
        wanted, found, unit = count * entries, len(getattr(tensor, name)), "entries"
        if kind in _BITS and _BITS[kind] < 8:
            wanted = math.ceil(count * _BITS[kind] / 8)
    if wanted != found:
        raise InvalidInput(
            f"{where} declares {list(tensor.dims)}, which is {wanted} {unit}, and has {found}.",
            hint=_HINT,
        )
