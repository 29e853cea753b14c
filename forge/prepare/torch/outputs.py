"""What a torch model's outputs are called, from the structure of its result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any


def flatten_outputs(result: Any) -> list[tuple[str, Any]]:
    """Flatten a result into named leaves, left to right; ``None`` is left out.

    A leaf under a dict, a named tuple or a dataclass is called by its path (``a``, or
    ``a.0`` for the first of a tuple under ``a``); any other ``output0``, ``output1`` …
    by its place among all leaves. The result may hold tensors or stand-ins of them.
    """
    leaves = [(path, leaf) for path, leaf in _walk(result, ()) if leaf is not None]
    return [
        (
            ".".join(path) if any(not part.isdigit() for part in path) else f"output{index}",
            leaf,
        )
        for index, (path, leaf) in enumerate(leaves)
    ]


def _walk(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping):
        items = [(str(key), item) for key, item in value.items()]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        items = list(zip(value._fields, value, strict=True))
    elif isinstance(value, (tuple, list)):
        items = [(str(index), item) for index, item in enumerate(value)]
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        items = [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]
    else:
        yield path, value
        return
    for key, item in items:
        yield from _walk(item, (*path, key))
