"""Find the zoos that are installed and pick entries from them.

A zoo is anything under the entry point group ``forge.zoo`` that gives entries when called; ours
and a user's are found alike. Beside the module that an entry point names may lie
``expectations.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Protocol

from forge import InvalidInput

GROUP = "forge.zoo"


class ZooEntry(Protocol):
    """What the checker needs to know of an entry.

    Its ``build`` gives a ``validation.case.Sample``.
    """

    @property
    def id(self) -> str: ...
    @property
    def framework(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def suites(self) -> frozenset[str]: ...
    @property
    def build(self) -> Callable[[], Any]: ...
    @property
    def rtol(self) -> float | None: ...
    @property
    def atol(self) -> float | None: ...
    @property
    def time_limit(self) -> float | None: ...


@dataclass(frozen=True)
class Zoo:
    """The entries of all zoos, and where their expectations are written down."""

    entries: tuple[ZooEntry, ...]
    expectation_files: tuple[Path, ...]


def installed_zoo() -> Zoo:
    """Collect the entries of every zoo that is installed.

    Raises:
        InvalidInput: A zoo cannot be imported, or two entries share an id.
    """
    found: dict[str, ZooEntry] = {}
    files: list[Path] = []
    for point in sorted(metadata.entry_points(group=GROUP), key=lambda p: p.name):
        try:
            entries = tuple(point.load()())
        except Exception as error:
            raise InvalidInput(
                f"the zoo {point.name!r} ({point.value}) cannot be read: {error}"
            ) from error
        for entry in entries:
            if entry.id in found:
                raise InvalidInput(f"two zoos have an entry {entry.id!r}; one is {point.value}.")
            found[entry.id] = entry
        file = _beside(point.module)
        if file is not None and file.is_file() and file not in files:
            files.append(file)
    return Zoo(tuple(found[key] for key in sorted(found)), tuple(files))


def _beside(module: str) -> Path | None:
    place = import_module(module).__file__
    return Path(place).with_name("expectations.toml") if place else None


def select(
    entries: Iterable[ZooEntry],
    *,
    suite: str | None = None,
    frameworks: Sequence[str] = (),
    patterns: Sequence[str] = (),
) -> list[ZooEntry]:
    """Pick entries by suite, framework and id patterns (``*`` and ``?``).

    Raises:
        InvalidInput: A pattern that matches no entry at all, with the nearest ids; a suite that
            no entry is in.
    """
    entries = list(entries)
    suites = sorted({name for entry in entries for name in entry.suites})
    if suite is not None and suite not in suites:
        raise InvalidInput(
            f"no entry is in the suite {suite!r}.", hint=f"the suites are {', '.join(suites)}"
        )
    for pattern in patterns:
        if not any(fnmatchcase(entry.id, pattern) for entry in entries):
            raise InvalidInput(
                f"no entry matches {pattern!r}.",
                hint=nearest(pattern, [entry.id for entry in entries]),
            )
    return [
        entry
        for entry in entries
        if (suite is None or suite in entry.suites)
        and (not frameworks or entry.framework in frameworks)
        and (not patterns or any(fnmatchcase(entry.id, pattern) for pattern in patterns))
    ]


def nearest(word: str, known: Sequence[str]) -> str:
    """Suggest what a mistyped word may have meant."""
    import difflib

    close = difflib.get_close_matches(word, known, n=3, cutoff=0.5)
    return f"did you mean {', '.join(close)}?" if close else "'forge zoo' lists all entries"
