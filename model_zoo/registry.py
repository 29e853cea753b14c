"""Collect the entries of a zoo."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import Any

from model_zoo.entry import SUITES, Entry, Sample, UnavailableError

Build = Callable[[], Sample]


class Registry:
    """The entries of one zoo, each id once."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def register(
        self, id: str, description: str, *, suites: Iterable[str] = SUITES, **fields: Any
    ) -> Callable[[Build], Build]:
        """Register a build function, which the decorator returns as it is.

        Args:
            id: ``<framework>/<family>/<variant>``.
            description: One line for a reader.
            suites: ``smoke`` and/or ``full``; both by default.
            fields: The other fields of ``Entry``.

        Raises:
            ValueError: The id is taken, or a field is malformed.
        """

        def decorate(build: Build) -> Build:
            known = self._entries.get(id)
            if known is not None:
                raise ValueError(
                    f"zoo entry {id!r} is registered twice: by {_where(known.build)} and by "
                    f"{_where(build)}; give one of them another variant"
                )
            needed = [tag.partition(":")[2] for tag in fields.get("tags", ()) if _is_need(tag)]
            guarded = _guarded(build, needed) if needed else build
            self._entries[id] = Entry(id, guarded, description, frozenset(suites), **fields)
            return build

        return decorate

    def entries(self) -> tuple[Entry, ...]:
        """List the entries, ordered by id."""
        return tuple(self._entries[id] for id in sorted(self._entries))


def _is_need(tag: str) -> bool:
    return tag.startswith("requires:")


def _guarded(build: Build, needed: Sequence[str]) -> Build:
    """Make a build say that it is unavailable where a package that it imports is missing."""

    @functools.wraps(build)
    def guarded() -> Sample:
        missing = [name for name in needed if find_spec(name.replace("-", "_")) is None]
        if missing:
            raise UnavailableError(
                f"building this model needs {', '.join(missing)}: pip install {' '.join(missing)}"
            )
        return build()

    return guarded


def _where(build: Build) -> str:
    return f"{build.__module__}.{getattr(build, '__qualname__', repr(build))}"


registry = Registry()
register = registry.register
