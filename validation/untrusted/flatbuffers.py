"""Check a stranger's TFLite flatbuffer: every offset, before anything follows one.

Neither the Python reader, nor TVM, nor the interpreter checks them: a bad one reads, or jumps,
where no data is.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from forge import InvalidInput
from validation.untrusted.tflite_schema import OPTIONS, OPTIONS_2, TABLES, UNIONS

_IDENTIFIER = b"TFL3"
_DEEPEST = 64
# Tables: a model of 100 000 operators has some 500 000.
_MOST_TABLES = 1_000_000
_OFFSET = struct.Struct("<I")
_SIGNED = struct.Struct("<i")
_SHORT = struct.Struct("<H")


class _BrokenError(Exception):
    """A place where the buffer contradicts itself."""


@dataclass
class Verified:
    """What a check has come by.

    Attributes:
        tables: How many tables there are.
        scalars: Where each number stands, and its width in bytes: fields, vector lengths and
            elements of short vectors.
        offsets: Where each offset to something else stands.
    """

    tables: int = 0
    scalars: list[tuple[int, int]] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


def check_flatbuffer(data: bytes, where: str) -> Verified:
    """Check that a TFLite model is whole and that no offset leaves it.

    Args:
        data: The file's content.
        where: The file, for the error.

    Raises:
        InvalidInput: It is no TFLite model, or an offset, a length or a table in it is wrong.
    """
    if len(data) < 8 or data[4:8] != _IDENTIFIER:
        raise InvalidInput(
            f"{where} is no TFLite model: it has not {_IDENTIFIER!r} at byte 4.",
            hint="give a .tflite file as tf.lite.TFLiteConverter writes it",
        )
    found = Verified()
    try:
        _Verifier(data, found).run()
    except (_BrokenError, struct.error) as error:
        raise InvalidInput(
            f"{where} is damaged: {error}.",
            hint="compare its size and checksum with the original",
        ) from error
    return found


class _Verifier:
    def __init__(self, data: bytes, found: Verified) -> None:
        self._data = data
        self._found = found
        # A table may be shared; one that has been seen as this kind is right.
        self._seen: set[tuple[int, str]] = set()
        # Tables to come: position, kind, depth, and a path in words.
        self._pending: list[tuple[int, str, int, str]] = []

    def run(self) -> None:
        root = self._follow(0, "the root")
        self._pending.append((root, "Model", 1, "Model"))
        while self._pending:
            self._table(*self._pending.pop())

    def _table(self, position: int, kind: str, depth: int, path: str) -> None:
        if (position, kind) in self._seen:
            return
        self._seen.add((position, kind))
        self._found.tables += 1
        if self._found.tables > _MOST_TABLES:
            raise _BrokenError(f"it has more than {_MOST_TABLES} tables")
        if depth > _DEEPEST:
            raise _BrokenError(f"tables stand {depth} deep in each other at {path}")
        places = self._fields(position, path)
        kinds = TABLES.get(kind, ())
        for index, form in enumerate(kinds):
            place = places.get(index)
            if place is None:
                continue
            name = f"{path}.{index}"
            start, room = place
            if form.isdigit():
                self._fits(room, int(form), name)
                self._found.scalars.append((start, int(form)))
            elif form == "U":
                self._union(kind, index, places, start, depth, name)
            elif form != "-":
                self._fits(room, 4, name)
                self._found.offsets.append(start)
                self._target(form, start, depth, name)

    def _fields(self, position: int, path: str) -> dict[int, tuple[int, int]]:
        """Find where each field of a table stands, and how much room the table leaves there."""
        self._inside(position, 4, path)
        table = position - _SIGNED.unpack_from(self._data, position)[0]
        self._inside(table, 4, f"the layout of {path}")
        size, length = (_SHORT.unpack_from(self._data, table + at)[0] for at in (0, 2))
        if size < 4 or size % 2 or length < 4:
            raise _BrokenError(f"the layout of {path} has {size} bytes for a table of {length}")
        self._inside(table, size, f"the layout of {path}")
        self._inside(position, length, path)
        places = {}
        for index in range((size - 4) // 2):
            offset = _SHORT.unpack_from(self._data, table + 4 + 2 * index)[0]
            if offset:
                if not 4 <= offset < length:
                    raise _BrokenError(f"field {index} of {path} lies outside its table")
                places[index] = (position + offset, length - offset)
        return places

    def _union(
        self,
        kind: str,
        index: int,
        places: dict[int, tuple[int, int]],
        start: int,
        depth: int,
        name: str,
    ) -> None:
        tag_place = places.get(index - 1)
        tag = self._data[tag_place[0]] if tag_place else 0
        names = UNIONS.get((kind, index), ())
        if not tag:
            return
        self._found.offsets.append(start)
        if tag > len(names):
            raise _BrokenError(f"{name} is of the unknown kind {tag}")
        self._pending.append((self._follow(start, name), names[tag - 1], depth + 1, name))

    def _target(self, form: str, start: int, depth: int, name: str) -> None:
        target = self._follow(start, name)
        if form == "s":
            self._vector(target, 1, name, text=True)
        elif not form.startswith("["):
            self._pending.append((target, form, depth + 1, name))
        elif form[1:-1].isdigit():
            width = int(form[1:-1])
            count = self._vector(target, width, name)
            self._found.scalars.append((target, 4))
            self._found.scalars += [(target + 4 + width * i, width) for i in range(min(count, 16))]
        else:
            count = self._vector(target, 4, name)
            self._found.scalars.append((target, 4))
            for place in range(target + 4, target + 4 + 4 * count, 4):
                self._found.offsets.append(place)
                child = self._follow(place, name)
                if form == "[s]":
                    self._vector(child, 1, name, text=True)
                else:
                    item = f"{name}[{(place - target - 4) // 4}]"
                    self._pending.append((child, form[1:-1], depth + 1, item))

    def _vector(self, position: int, width: int, name: str, text: bool = False) -> int:
        self._inside(position, 4, name)
        count = int(_OFFSET.unpack_from(self._data, position)[0])
        self._inside(position + 4, count * width + text, f"{name}, a list of {count} elements,")
        if text:
            if self._data[position + 4 + count]:
                raise _BrokenError(f"the text {name} does not end")
            try:
                self._data[position + 4 : position + 4 + count].decode()
            except UnicodeDecodeError as error:
                raise _BrokenError(f"the text {name} is no UTF-8") from error
        return count

    def _follow(self, position: int, name: str) -> int:
        self._inside(position, 4, name)
        offset = int(_OFFSET.unpack_from(self._data, position)[0])
        if not offset:
            raise _BrokenError(f"{name} points to itself")
        return position + offset

    def _inside(self, position: int, size: int, name: str) -> None:
        if position < 0 or position + size > len(self._data):
            raise _BrokenError(
                f"{name} reaches from byte {position} to {position + size}, and the file has "
                f"{len(self._data)}"
            )

    def _fits(self, room: int, size: int, name: str) -> None:
        if size > room:
            raise _BrokenError(f"{name} is cut off by the end of its table")


def option_names() -> Iterator[str]:
    """List every kind of operator options that is known."""
    yield from OPTIONS
    yield from OPTIONS_2
