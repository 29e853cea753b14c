"""Write Python values as JSON that gives the very same values back, tuples and all.

What JSON does not know is an object with one key that begins with ``$``.
"""

from __future__ import annotations

import base64
import math
from typing import Any


class NotPlainError(Exception):
    """A value that is more than data, such as a function; the text names its type."""


def to_plain(value: Any) -> Any:
    """Turn a value into what ``json.dumps`` takes.

    Raises:
        NotPlainError: It holds something that is no None, bool, int, float, str, bytes, list,
            tuple or dict.
    """
    kind = type(value)  # a subclass may be more than its data
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if math.isfinite(value) else {"$float": str(value)}
    if kind is bytes:
        return {"$bytes": base64.b64encode(value).decode()}
    if kind is list:
        return [to_plain(each) for each in value]
    if kind is tuple:
        return {"$tuple": [to_plain(each) for each in value]}
    if kind is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: to_plain(each) for key, each in value.items()}
        return {"$dict": [[to_plain(key), to_plain(each)] for key, each in value.items()]}
    raise NotPlainError(f"a {kind.__module__}.{kind.__qualname__}")


def from_plain(value: Any) -> Any:
    """Turn back what ``to_plain`` made.

    Raises:
        ValueError: It is no such value.
    """
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if not any(key.startswith("$") for key in value):
        return {key: from_plain(each) for key, each in value.items()}
    if len(value) != 1:
        raise ValueError(f"an object with the keys {', '.join(value)}")
    ((name, content),) = value.items()
    try:
        if name == "$float":
            return float(content)
        if name == "$bytes":
            return base64.b64decode(content, validate=True)
        if name == "$tuple":
            return tuple(from_plain(each) for each in content)
        if name == "$dict":
            return {from_plain(key): from_plain(each) for key, each in content}
    except TypeError as error:
        raise ValueError(f"{name} holds something else: {error}") from error
    raise ValueError(f"an unknown kind of value, {name!r}")
