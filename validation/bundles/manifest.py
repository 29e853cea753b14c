"""``bundle.json``: what a bundle replays, what it consists of, and what was left out."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from forge import InvalidInput
from validation.bundles.arrays import Record
from validation.bundles.layout import FORMAT, MANIFEST, SCHEMA
from validation.bundles.plain import from_plain, to_plain
from validation.bundles.verdict import Verdict, verdict_from_json

_LARGEST = 16 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")

Samples = tuple[list[Record], ...]


@dataclass(frozen=True)
class FileRecord:
    """Size and SHA-256 of one file."""

    size: int
    sha256: str


@dataclass(frozen=True)
class Origin:
    """Where a model can be had that is not in the bundle.

    Attributes:
        kind: ``zoo`` or ``file``.
        name: The entry's id, or the file's path.
        distribution: What brings the zoo; empty for a file.
        version: Its version.
        file: Size and hash of the file; None for a zoo.
    """

    kind: str
    name: str
    distribution: str = ""
    version: str = ""
    file: FileRecord | None = None


@dataclass(frozen=True)
class Manifest:
    """What ``bundle.json`` says.

    Attributes:
        case: Fields of the ``Case``, as plain values: all that are data.
        target: What it was compiled for.
        expected: The verdict.
        created: Date and time, UTC.
        options: The loader's options that are data.
        pickled_options: Names of those that are not.
        model: How it is held: ``stored`` by its framework, the user's own ``file``, or not at all.
        trusted: It had been opened with trust.
        origin: Where else it can be had.
        made_up: The inputs were made up, from the case's plan.
        inputs, reference, ours: Records of the arrays that the bundle has, one a sample.
        left_out: Why a part is not there, by its name.
        files: All files but this one and those for readers, by their path in the bundle.
        complete: Writing it came to its end.
    """

    case: Mapping[str, Any]
    target: Any
    expected: Verdict
    created: str
    options: Mapping[str, Any] = field(default_factory=dict)
    pickled_options: tuple[str, ...] = ()
    model: str = ""
    trusted: bool = False
    origin: Origin | None = None
    made_up: bool = False
    inputs: Samples = ()
    reference: Samples = ()
    ours: Samples = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    complete: bool = False

    def changed(self, **fields: Any) -> Manifest:
        """Copy it with some fields replaced."""
        return replace(self, **fields)

    def to_json(self) -> str:
        """Write it as JSON."""
        origin = self.origin
        record = {
            "format": FORMAT,
            "schema": SCHEMA,
            "complete": self.complete,
            "created": self.created,
            "expected": self.expected.to_json(),
            "case": to_plain(dict(self.case)),
            "target": to_plain(self.target),
            "options": to_plain(dict(self.options)),
            "pickled_options": list(self.pickled_options),
            "model": self.model,
            "trusted": self.trusted,
            "origin": origin and {**vars(origin), "file": origin.file and vars(origin.file)},
            "made_up": self.made_up,
            "inputs": list(self.inputs),
            "reference": list(self.reference),
            "ours": list(self.ours),
            "left_out": dict(self.left_out),
            "files": {name: vars(file) for name, file in self.files.items()},
        }
        return json.dumps(record, indent=1, allow_nan=False)


def read_manifest(folder: Path) -> Manifest:
    """Read a bundle's ``bundle.json``; nothing else is looked at.

    Raises:
        InvalidInput: There is none, or one that is damaged or of a newer schema.
    """
    record = _record(folder)
    schema = record["schema"]
    if schema > SCHEMA:
        raise InvalidInput(
            f"{str(folder)!r} has schema {schema}; this Forge reads up to {SCHEMA}.",
            hint="upgrade forge-validation",
        )
    try:
        return _manifest(record)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(folder, error) from error


def is_complete(folder: Path) -> bool:
    """Tell whether writing a bundle, of whatever schema, came to its end.

    Raises:
        InvalidInput: The folder is no bundle.
    """
    return _record(folder).get("complete") is True


def _record(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        if path.is_symlink() or not path.is_file():
            raise InvalidInput(f"{str(folder)!r} is no bundle: it holds no {MANIFEST}.")
        if path.stat().st_size > _LARGEST:
            raise ValueError("it is too large")
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise _damaged(folder, error) from error
    header = record if isinstance(record, dict) else {}
    if header.get("format") != FORMAT or type(header.get("schema")) is not int:
        raise InvalidInput(f"{str(path)!r} is none that Forge wrote.")
    return header


def _damaged(folder: Path, error: Exception) -> InvalidInput:
    return InvalidInput(
        f"{str(folder / MANIFEST)!r} is damaged: {type(error).__name__}: {error}",
        hint="copy the bundle once more, or run the check again",
    )


def _manifest(record: dict[str, Any]) -> Manifest:
    return Manifest(
        case=_case(from_plain(record["case"])),
        target=from_plain(record["target"]),
        expected=verdict_from_json(record["expected"]),
        created=_typed(record, "created", str),
        options=_texts_to(from_plain(record["options"]), object),
        pickled_options=tuple(_list_of(record["pickled_options"], str)),
        model=_one_of(record["model"], ("", "stored", "file")),
        trusted=_typed(record, "trusted", bool),
        origin=_origin(record["origin"]),
        made_up=_typed(record, "made_up", bool),
        inputs=_samples(record["inputs"]),
        reference=_samples(record["reference"]),
        ours=_samples(record["ours"]),
        left_out=_texts_to(record["left_out"], str),
        files={
            _relative(name): _file(file) for name, file in _texts_to(record["files"], dict).items()
        },
        complete=_typed(record, "complete", bool),
    )


def _case(fields: Any) -> dict[str, Any]:
    case = _texts_to(fields, object)
    for name, kinds in (
        ("id", str),
        ("framework", str),
        ("threads", int),
        ("memory_limit", int),
        ("latency", bool),
        ("given", bool),
        ("samples", int),
        ("seed", int),
        ("fold", (bool, tuple)),
        ("judges", dict),
        ("ranges", dict),
        ("time_limit", (int, float)),
        ("rtol", (int, float, type(None))),
        ("atol", (int, float, type(None))),
    ):
        value = _typed(case, name, kinds)
        if isinstance(value, (int, float)) and not value >= 0:
            raise ValueError(f"{name} is {value}")
    _texts_to(case["judges"], str)
    _texts_to(case["ranges"], tuple)
    return case


def _samples(value: Any) -> Samples:
    samples = tuple(_list_of(each, dict) for each in _list_of(value, list))
    for array in (array for sample in samples for array in sample):
        _typed(array, "name", str)
        _typed(array, "dtype", str)
        _list_of(array["shape"], int)
    return samples


def _origin(value: Any) -> Origin | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("its origin is none")
    texts = {n: _typed(value, n, str) for n in ("name", "distribution", "version")}
    file = _file(value["file"]) if value["file"] is not None else None
    return Origin(_one_of(value["kind"], ("zoo", "file")), **texts, file=file)


def _file(value: Any) -> FileRecord:
    size, sha256 = _typed(value, "size", int), _typed(value, "sha256", str)
    if size < 0 or not _SHA256.fullmatch(sha256):
        raise ValueError(f"a file of {size} bytes with the hash {sha256!r}")
    return FileRecord(size, sha256)


def _relative(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or str(path) != name or "\0" in name:
        raise ValueError(f"the file name {name!r} leaves the bundle")
    return name


def _typed(record: Mapping[str, Any], name: str, kinds: Any) -> Any:
    value = record[name]
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is int):
        raise ValueError(f"{name} is {value!r}"[:200])
    return value


def _list_of(value: Any, kind: type) -> list[Any]:
    if not isinstance(value, list) or not all(isinstance(each, kind) for each in value):
        raise ValueError(f"no list of {kind.__name__}: {value!r}"[:200])
    return value


def _texts_to(value: Any, kind: type) -> dict[str, Any]:
    pairs = value.items() if isinstance(value, dict) else ((None, None),)
    if not all(isinstance(key, str) and isinstance(each, kind) for key, each in pairs):
        raise ValueError(f"no texts to {kind.__name__}: {value!r}"[:200])
    return dict(value)


def _one_of(value: Any, words: tuple[str, ...]) -> str:
    if value not in words:
        raise ValueError(f"{value!r} is none of {', '.join(map(repr, words))}")
    return str(value)
