"""Walk back from an index to the inputs that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

Key = TypeVar("Key", str, int)


def reached(start: Key, parents: Callable[[Key], Sequence[Key]]) -> set[Key]:
    """Give all values that ``start`` is made of, itself included.

    Args:
        start: A value.
        parents: Gives what a value is made of without its numbers changing; nothing otherwise.
    """
    seen: set[Key] = set()
    waiting = [start]
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            waiting.extend(parents(value))
    return seen


def smallest(found: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Give the smallest size by name."""
    sizes: dict[str, int] = {}
    for name, size in found:
        sizes[name] = min(size, sizes.get(name, size))
    return sizes
