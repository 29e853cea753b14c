"""Rewrite an expectation file by what a run has found, keeping comments and order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation.expectations.applying import as_measured
from validation.expectations.reading import SCHEMA, expectation_of, read_text, records_of
from validation.expectations.record import Expectation
from validation.result import CheckResult
from validation.vocabulary import Status

_HEADER = "[[failure]]"


@dataclass(frozen=True)
class Update:
    """What became of an expectation file.

    Attributes:
        before: Its text.
        after: The new text.
        notes: What a person has to decide, a line each.
    """

    before: str
    after: str
    notes: tuple[str, ...] = ()


def update_expectations(
    file: Path,
    rows: Sequence[CheckResult],
    add: Sequence[CheckResult] = (),
    why: str = "",
    link: str = "",
) -> Update:
    """Make the new text of an expectation file; nothing is written.

    A record all of whose cases pass now is removed, with the comment lines right above it. One all
    of whose cases fail in one other way gets that stage and reason. One whose cases differ is left
    alone, with a note. Records that no row is about stay.

    Args:
        file: The file.
        rows: What was found; skipped rows say nothing.
        add: Failures that become records of their own.
        why: The sentence for those.
        link: Where those are tracked.

    Raises:
        InvalidInput: The file cannot be read, or ``add`` comes without ``why`` and ``link``.
    """
    if add and not (why and link):
        raise InvalidInput("a new known failure needs --why and --link.")
    before = read_text(file)
    records = records_of(before, file)
    measured = [as_measured(row) for row in rows]
    removed: list[int] = []
    changed: dict[int, tuple[str, str]] = {}
    notes: list[str] = []
    for index, record in enumerate(records):
        expectation = expectation_of(record)
        verdict = _verdict(expectation, measured)
        if verdict == "remove":
            removed.append(index)
        elif isinstance(verdict, tuple):
            changed[index] = verdict
        elif verdict:
            notes.append(verdict)
    new = [_record_of(as_measured(row), why, link) for row in add]
    after = _rewritten(before, removed, changed, new)
    wanted = [
        {**record, **_ends(changed.get(index))}
        for index, record in enumerate(records)
        if index not in removed
    ] + new
    if records_of(after, file) != wanted:
        raise InvalidInput(
            f"{file} is laid out in a way that cannot be edited line by line.",
            hint="write each record as [[failure]] with one field a line",
        )
    return Update(before, after, tuple(notes))


def _verdict(expectation: Expectation, rows: Sequence[CheckResult]) -> str | tuple[str, str]:
    """Say ``remove``, a new stage and reason, a note, or nothing."""
    about = [r for r in rows if expectation.applies_to(r) and r.status is not Status.SKIP]
    passing = [row.id for row in about if row.status is Status.PASS]
    if not about:
        return ""
    if len(passing) == len(about):
        return "remove"
    if passing:
        return (
            f"{expectation.case}: {', '.join(passing)} passes now and others still fail; "
            "write the pattern so that it matches those alone"
        )
    ends = {(r.stage.value, r.reason.value) for r in about if r.stage and r.reason}
    if ends == {(expectation.stage.value, expectation.reason.value)}:
        return ""
    if len(ends) == 1:
        return ends.pop()
    found = ", ".join(sorted(f"{reason} at {stage}" for stage, reason in ends))
    return f"{expectation.case}: its cases fail in several ways ({found}); write one record each"


def _ends(change: tuple[str, str] | None) -> dict[str, str]:
    return {} if change is None else {"stage": change[0], "reason": change[1]}


def _record_of(row: CheckResult, why: str, link: str) -> dict[str, Any]:
    if row.status is not Status.FAIL or row.stage is None or row.reason is None:
        raise InvalidInput(f"{row.id} did not fail: only a failure can be added.")
    return {
        "case": row.id,
        "stage": row.stage.value,
        "reason": row.reason.value,
        "why": why,
        "link": link,
    }


def _rewritten(
    text: str,
    removed: Sequence[int],
    changed: dict[int, tuple[str, str]],
    new: Sequence[dict[str, Any]],
) -> str:
    tomlkit = require("tomlkit", "editing an expectation file")
    document = tomlkit.parse(text)
    for index, ends in changed.items():
        document["failure"][index]["stage"], document["failure"][index]["reason"] = ends
    if changed or new:
        document["schema"] = SCHEMA
    lines = tomlkit.dumps(document).splitlines(keepends=True)
    lines = _without(lines, removed)
    for record in new:
        table = tomlkit.dumps(record)
        lines.append(f"\n{_HEADER}\n{table}")
    return "".join(lines)


def _without(lines: list[str], removed: Sequence[int]) -> list[str]:
    """Cut records out: from the comment right above a header to what belongs to the next one."""
    headers = [n for n, line in enumerate(lines) if line.strip() == _HEADER]
    starts = []
    for header in headers:
        start = header
        while start > 0 and lines[start - 1].startswith("#"):
            start -= 1
        # A comment at the very top is the file's, not the first record's.
        starts.append(header if start == 0 else start)
    ends = [*starts[1:], len(lines)]
    dropped = {
        n for index in removed if index < len(starts) for n in range(starts[index], ends[index])
    }
    return [line for n, line in enumerate(lines) if n not in dropped]
