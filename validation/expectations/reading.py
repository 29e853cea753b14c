"""Read expectation files, and say all that is wrong with one at once. No framework is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from forge import InvalidInput
from validation.expectations.record import Expectation
from validation.vocabulary import Reason, Stage
from validation.zoos import nearest

SCHEMA = 2
_REQUIRED = ("case", "stage", "reason", "why", "link")
_OPTIONAL = ("target", "versions")
# What a row tells the version of; a misspelt one would never match.
DISTRIBUTIONS = (
    "python", "forge-validation", "apache-tvm", "apache-tvm-ffi", "numpy", "onnx", "onnxruntime",
    "torch", "tensorflow", "tensorflow-cpu", "tf2onnx", "keras", "tflite", "ai-edge-litert",
)  # fmt: skip


def read_expectations(files: Iterable[Path], known_ids: Sequence[str]) -> tuple[Expectation, ...]:
    """Read expectation files.

    Raises:
        InvalidInput: A malformed file, a word outside the vocabulary, a missing reason or link,
            or a case that no zoo has; all that is wrong, a line each.
    """
    found: list[Expectation] = []
    problems: list[str] = []
    for file in files:
        try:
            records = records_of(read_text(file), file)
        except InvalidInput as error:
            problems.append(error.message)
            continue
        for number, record in enumerate(records, start=1):
            faults = list(_faults(record, known_ids))
            problems += [f"{file}, failure {number}: {fault}" for fault in faults]
            if not faults:
                found.append(expectation_of(record))
    if problems:
        raise InvalidInput("\n  ".join(problems))
    return tuple(found)


def read_text(file: Path) -> str:
    """Read a file's text.

    Raises:
        InvalidInput: It cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from error


def records_of(text: str, file: Path) -> list[dict[str, Any]]:
    """Parse a file's text into its records, as they are.

    Raises:
        InvalidInput: It is no TOML, of a newer schema, or not a list of ``[[failure]]``.
    """
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content = tomllib.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from error
    schema = content.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise InvalidInput(f"{file} has schema {schema!r}, this Forge reads up to {SCHEMA}.")
    records = content.get("failure", [])
    unknown = sorted(set(content) - {"schema", "failure"})
    well_formed = isinstance(records, list) and all(isinstance(each, dict) for each in records)
    if unknown or not well_formed:
        what = f"unknown keys {unknown}; " if unknown else ""
        raise InvalidInput(f"{file}: {what}write each failure as [[failure]].")
    return list(records)


def expectation_of(record: dict[str, Any]) -> Expectation:
    """Make an expectation of a record that has no faults."""
    return Expectation(
        record["case"],
        Stage(record["stage"]),
        Reason(record["reason"]),
        record["why"],
        record["link"],
        record.get("target", ""),
        dict(record.get("versions", {})),
    )


def _faults(record: dict[str, Any], known_ids: Sequence[str]) -> Iterator[str]:
    fields = (*_REQUIRED, *_OPTIONAL)
    for name in sorted(set(record) - set(fields)):
        yield f"unknown field {name!r}; {_near(name, fields)}"
    for name in _REQUIRED:
        if not record.get(name):
            yield f"missing field {name!r}"
    texts = {name: record[name] for name in fields if name != "versions" and record.get(name)}
    for name, value in texts.items():
        if not isinstance(value, str):
            yield f"{name} is {value!r}, expected a text"
    case = texts.get("case")
    if isinstance(case, str) and not any(fnmatchcase(known, case) for known in known_ids):
        yield f"no entry matches {case!r}; {nearest(case, known_ids)}"
    for name, words in (("stage", list(Stage)), ("reason", list(Reason))):
        known = [word.value for word in words]
        if isinstance(texts.get(name), str) and texts[name] not in known:
            yield f"{texts[name]!r} is no {name}; {_near(texts[name], known)}"
    yield from _faults_of_versions(record.get("versions", {}))


def _faults_of_versions(versions: Any) -> Iterator[str]:
    if not isinstance(versions, dict):
        yield f'versions is {versions!r}, expected a table such as {{ onnx = ">=1.20" }}'
        return
    for name, ranges in versions.items():
        if name not in DISTRIBUTIONS:
            yield f"versions: no row tells the version of {name!r}; {_near(name, DISTRIBUTIONS)}"
        try:
            SpecifierSet(ranges)
        except (InvalidSpecifier, TypeError, AttributeError):
            yield f'versions: {ranges!r} is no range of versions such as ">=1.20,<1.23"'


def _near(word: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
