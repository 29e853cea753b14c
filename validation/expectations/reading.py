"""Read expectation files, and say all that is wrong with one at once. No framework is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from forge import InvalidInput
from validation.expectations.record import PLATFORM, Expectation
from validation.references import frameworks
from validation.vocabulary import Reason, Stage
from validation.zoos import nearest

SCHEMA = 2
_REQUIRED = ("case", "stage", "reason", "why", "link")
_OPTIONAL = ("target", "versions")
# What every row tells the version of.
_ALWAYS = ("python", PLATFORM, "forge-validation", "apache-tvm", "apache-tvm-ffi", "numpy")


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
            where = f"{file}, failure {number}"
            faults = list(faults_of(record, known_ids))
            problems += [f"{where}: {fault}" for fault in faults]
            if faults:
                continue
            if record in records[: number - 1]:
                problems.append(f"{where}: the same stands in failure {records.index(record) + 1}")
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


def faults_of(record: dict[str, Any], known_ids: Sequence[str]) -> Iterator[str]:
    """Say what is wrong with a record, a line each, with what may have been meant."""
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
    cases = [known for known in known_ids if fnmatchcase(known, str(case))]
    yield from _faults_of_versions(record.get("versions", {}), {c.split("/")[0] for c in cases})


def _faults_of_versions(versions: Any, of: Iterable[str]) -> Iterator[str]:
    if not isinstance(versions, dict):
        yield f'versions is {versions!r}, expected a table such as {{ onnx = ">=1.20" }}'
        return
    known = _distributions(of)
    for name, ranges in versions.items():
        if canonicalize_name(name) not in known:
            yield f"versions: no such row tells the version of {name!r}; {_near(name, known)}"
        if name == PLATFORM and isinstance(ranges, str):
            continue
        try:
            SpecifierSet(ranges)
        except (InvalidSpecifier, TypeError, AttributeError):
            yield f'versions: {ranges!r} is no range of versions such as ">=1.20,<1.23"'


def _distributions(names: Iterable[str]) -> list[str]:
    """List what rows of these frameworks tell the version of; of all, where there are none."""
    wanted = set(names)
    packages = [
        package
        for framework in frameworks()
        if framework.name in wanted or not wanted
        for package in framework.packages
    ]
    return list(dict.fromkeys([*_ALWAYS, *packages]))


def _near(word: str, known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(word, known, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
