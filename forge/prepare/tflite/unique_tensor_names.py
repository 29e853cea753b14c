"""Give every tensor of a TFLite model a name of its own.

TVM's TFLite frontend keeps what it has converted in one table keyed by tensor name, and the
first entry of a name wins: of two tensors that share a name the second one silently takes the
value of the first. TFLite itself keys tensors by index and never looks at names.
Needed by TVM 0.25 to 0.27.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/tflite/tflite_frontend.py.
"""

from __future__ import annotations

import struct
from typing import Any

from forge.prepare.tflite.read_buffer import parse
from forge.specs import Step

_NAME_SLOT = 10  # the fourth field in the vtable of schema.fbs' Tensor


def unique_tensor_names(buffer: bytearray) -> tuple[bytearray, Step | None]:
    """Rename tensors where two of one subgraph share a name.

    New names are appended to a copy of the flatbuffer and the tensors' offsets point at them.
    Inputs and outputs of a subgraph keep their names where they can. Returns the buffer and
    what was done; the buffer as it is and None where every name was unique.
    """
    model = parse(buffer)
    patches: list[tuple[int, str]] = []
    details: list[str] = []
    for number in range(model.SubgraphsLength()):
        for position, old, new in _renamed(model.Subgraphs(number)):
            patches.append((position, new))
            details.append(f"subgraph {number}: {old!r} is now {new!r}")
    if not patches:
        return buffer, None
    buffer = bytearray(buffer)
    for position, name in patches:
        buffer.extend(b"\0" * (-len(buffer) % 4))
        struct.pack_into("<I", buffer, position, len(buffer) - position)
        encoded = name.encode("utf-8")
        buffer.extend(struct.pack("<I", len(encoded)) + encoded + b"\0")
    return buffer, Step(
        "unique_tensor_names",
        "TVM keys tensors by name, TFLite by index: tensors that share a name would be mixed up",
        len(patches),
        tuple(details),
    )


def _renamed(subgraph: Any) -> list[tuple[int, str, str]]:
    count = subgraph.TensorsLength()
    names = [(subgraph.Tensors(i).Name() or b"").decode("utf-8") for i in range(count)]
    border = [
        int(index)
        for vector in (subgraph.InputsAsNumpy(), subgraph.OutputsAsNumpy())
        if not isinstance(vector, int)
        for index in vector
    ]
    taken = set(names)
    seen: set[str] = set()
    renamed: list[tuple[int, str, str]] = []
    for index in dict.fromkeys([*border, *range(count)]):
        name = names[index]
        if name not in seen:
            seen.add(name)
            continue
        table = subgraph.Tensors(index)._tab
        field = table.Offset(_NAME_SLOT)
        if not field:
            continue  # TVM makes a name from the index for a tensor that has none
        new = f"{name}_{index}"
        while new in taken:
            new += "_"
        taken.add(new)
        seen.add(new)
        renamed.append((table.Pos + field, name, new))
    return renamed
