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
        InvalidInput: A malformed file, a word outside the vocabulary, a missing reason or link, or a
            case that no zoo has.
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
    for expected in expectations:
        if not expected.applies_to(row):
            continue
        text = f"{expected.why} ({expected.link})"
        if row.status is Status.PASS:
            message = f"passes, and was expected to fail at {expected.stage.value}: {text}"
            return row.changed(status=Status.XPASS, message=message, expectation=text)
        if row.status is Status.FAIL and (row.stage, row.reason) == (expected.stage, expected.reason):
            return row.changed(status=Status.XFAIL, expectation=text)
        if row.status is Status.FAIL:
            wanted = f"expected {expected.reason.value} at {expected.stage.value}"
            return row.changed(message=f"{row.message} ({wanted})")
    return row


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
        raise InvalidInput(f"{file} has schema {content.get('schema')!r}, this Forge reads {SCHEMA}.")
    records = content.get("failure", [])
    if not isinstance(records, list):
        raise InvalidInput(f"{file}: write each failure as [[failure]].")
    return records


def _expectation(record: dict[str, Any], where: str, known_ids: Sequence[str]) -> Expectation:
    fields = {"case", "stage", "reason", "why", "link", "target"}
    unknown = sorted(set(record) - fields)
    missing = sorted(fields - {"target"} - {key for key, value in record.items() if value})
    if unknown or missing:
        raise InvalidInput(f"{where}: unknown fields {unknown}, missing fields {missing}.")
    if not any(fnmatchcase(known, record["case"]) for known in known_ids):
        raise InvalidInput(
            f"{where}: no entry matches {record['case']!r}.", hint=nearest(record["case"], known_ids)
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
