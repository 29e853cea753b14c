"""Parse a stranger's protobuf, and say in words why it cannot be parsed."""

from __future__ import annotations

from typing import Any

from forge import InvalidInput

# Google's parsers refuse deeper ones, each with words of its own.
DEEPEST = 100
_VARINT, _FIXED64, _MESSAGE, _GROUP, _END_GROUP, _FIXED32 = range(6)


def parse(message: Any, data: bytes, where: str, kind: str, hint: str) -> Any:
    """Fill ``message`` from ``data``.

    Args:
        message: An empty message of the framework's own class.
        data: The bytes.
        where: The file, for the error.
        kind: What it should be, for the error, such as ``an ONNX model``.
        hint: What to try where it is damaged.

    Raises:
        InvalidInput: It is damaged, of another kind, or nested too deep.
    """
    try:
        message.ParseFromString(data)
    except Exception as error:  # DecodeError; RecursionError of the parser in pure Python
        depth = nesting_of(type(message).DESCRIPTOR, data)
        if depth > DEEPEST:
            raise InvalidInput(
                f"{where} is nested {depth} messages deep; no parser of {kind} takes more than "
                f"{DEEPEST}.",
                hint="a model has a few levels: this file was damaged, or made to do harm",
            ) from error
        raise InvalidInput(
            f"{where} cannot be read as {kind}: {type(error).__name__}: {error}", hint=hint
        ) from error
    return message


def nesting_of(descriptor: Any, data: bytes, limit: int = 1_000_000) -> int:
    """Measure how deep messages stand in each other, without recursion.

    Args:
        descriptor: The outermost message's.
        data: The bytes, which may be damaged: reading ends where they are.
        limit: Fields that are looked at.

    Returns:
        1 for a message of scalars alone.
    """
    deepest = 1
    pending = [(descriptor, 0, len(data), 1)]
    while pending and limit:
        inner, position, end, depth = pending.pop()
        deepest = max(deepest, depth)
        while position < end and limit:
            limit -= 1
            tag, position = _varint(data, position, end)
            wire = tag & 7
            if wire == _MESSAGE:
                size, position = _varint(data, position, end)
                field = inner.fields_by_number.get(tag >> 3)
                if position + size > end:
                    size = end - position
                if field is not None and field.message_type is not None:
                    # What follows this message is looked at after it.
                    pending.append((inner, position + size, end, depth))
                    inner, end, depth = field.message_type, position + size, depth + 1
                    deepest = max(deepest, depth)
                else:
                    position += size
            elif wire == _VARINT:
                _, position = _varint(data, position, end)
            elif wire in (_FIXED32, _FIXED64):
                position += 4 if wire == _FIXED32 else 8
            elif wire == _GROUP:
                depth += 1
                deepest = max(deepest, depth)
            elif wire == _END_GROUP:
                depth -= 1
            else:
                break
    return deepest


def _varint(data: bytes, position: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while position < end and shift < 70:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    return 0, end
