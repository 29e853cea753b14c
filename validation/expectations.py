"""Known failures: which case fails at which stage, for which reason, and where that is tracked."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from forge import InvalidInput
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status
from validation.zoos import nearest

SCHEMA = 1


@dataclass(frozen=True)
class Expectation:
    """One known failure.

    Attributes:
        case: A case's id, or a pattern of ids.
        stage: Where it fails.
        reason: Why it fails, in the vocabulary's words.
        why: The same in a sentence.
        link: Where it is tracked.
        target: The target to which it applies; empty for all.
    """

    case: str
    stage: Stage
    reason: Reason
    why: str
    link: str
    target: str = ""

    def applies_to(self, row: CheckResult) -> bool:
        return fnmatchcase(row.id, self.case) and self.target in ("", row.target)


def read_expectations(files: Iterable[Path], known_ids: Sequence[str]) -> tuple[Expectation, ...]:
    """Read expectation files.

    Raises:
        InvalidInput: A malformed file, a word outside the vocabulary, a missing reason or link,
            or a case that no zoo has.
    """
    return tuple(
        _expectation(record, f"{file}, failure {number}", known_ids)
        for file in files
        for number, record in enumerate(_records(file), start=1)
    )


def apply_expectations(row: CheckResult, expectations: Iterable[Expectation]) -> CheckResult:
    """Turn an expected failure into XFAIL, and a pass that was not expected into XPASS.

    A case that fails at another stage or for another reason than expected stays a FAIL.
    """
    expected = [each for each in expectations if each.applies_to(row)]
    if not expected or row.status not in (Status.PASS, Status.FAIL):
        return row
    if row.status is Status.PASS:
        text = f"{expected[0].why} ({expected[0].link})"
        message = f"passes, and was expected to fail at {expected[0].stage.value}: {text}"
        return row.changed(status=Status.XPASS, message=message, expectation=text)
    for each in expected:
        if (row.stage, row.reason) == (each.stage, each.reason):
            return row.changed(status=Status.XFAIL, expectation=f"{each.why} ({each.link})")
    wanted = " or ".join(f"{each.reason.value} at {each.stage.value}" for each in expected)
    return row.changed(message=f"{row.message} (expected {wanted})")


def _records(file: Path) -> list[dict[str, Any]]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}") from error
    if content.get("schema") != SCHEMA:
        raise InvalidInput(
            f"{file} has schema {content.get('schema')!r}, this Forge reads {SCHEMA}."
        )
    records = content.get("failure", [])
    unknown = sorted(set(content) - {"schema", "failure"})
    well_formed = isinstance(records, list) and all(isinstance(each, dict) for each in records)
    if unknown or not well_formed:
        what = f"unknown keys {unknown}; " if unknown else ""
        raise InvalidInput(f"{file}: {what}write each failure as [[failure]].")
    return list(records)


def _expectation(record: dict[str, Any], where: str, known_ids: Sequence[str]) -> Expectation:
    fields = {"case", "stage", "reason", "why", "link", "target"}
    unknown = sorted(set(record) - fields)
    missing = sorted(fields - {"target"} - {key for key, value in record.items() if value})
    if unknown or missing:
        raise InvalidInput(f"{where}: unknown fields {unknown}, missing fields {missing}.")
    no_text = sorted(key for key, value in record.items() if not isinstance(value, str))
    if no_text:
        raise InvalidInput(f"{where}: {', '.join(no_text)}: expected a text.")
    if not any(fnmatchcase(known, record["case"]) for known in known_ids):
        raise InvalidInput(
            f"{where}: no entry matches {record['case']!r}.",
            hint=nearest(record["case"], known_ids),
        )
    try:
        stage, reason = Stage(record["stage"]), Reason(record["reason"])
    except ValueError as error:
        words = [word.value for word in (*Stage, *Reason)]
        raise InvalidInput(
            f"{where}: {error}.", hint=f"the words are {', '.join(words)}"
        ) from error
    return Expectation(
        record["case"], stage, reason, record["why"], record["link"], record.get("target", "")
    )
