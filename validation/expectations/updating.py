"""Decide how an expectation file changes by what runs have found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from forge import InvalidInput
from validation.expectations.applying import as_measured
from validation.expectations.editing import Ends, rewritten
from validation.expectations.reading import expectation_of, faults_of, read_text, records_of
from validation.expectations.record import Expectation
from validation.result import CheckResult
from validation.vocabulary import Stage, Status

# What fails before a target plays a part fails for all of them.
_WITHOUT_TARGET = (Stage.ENVIRONMENT, Stage.BUILD, Stage.REFERENCE, Stage.LOAD, Stage.FOLD)
_PASS: Ends = ("", "")


@dataclass(frozen=True)
class Addition:
    """Failures that are to become known ones.

    Attributes:
        ids: Their cases.
        why: Why they fail, in a sentence.
        link: Where that is tracked.
    """

    ids: Sequence[str] = ()
    why: str = ""
    link: str = ""


@dataclass(frozen=True)
class Update:
    """What becomes of an expectation file.

    Attributes:
        before: Its text.
        after: The new text.
        notes: What a person has to decide, a line each.
    """

    before: str
    after: str
    notes: tuple[str, ...] = ()


@dataclass
class _Changes:
    removed: list[int] = field(default_factory=list)
    ends: dict[int, Ends] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def update_expectations(
    file: Path,
    rows: Sequence[CheckResult],
    known_ids: Sequence[str],
    addition: Addition | None = None,
) -> Update:
    """Make the new text of an expectation file; nothing is written.

    A record all of whose cases pass now is removed, with the comment lines right above it. One all
    of whose cases fail in one other way gets that stage and reason. It is left alone, with a note,
    where its cases differ from each other, where one case ends differently in other versions or on
    other targets, or where the results lack some of a pattern's cases. Records that no row is
    about stay.

    Args:
        file: The file. With an addition it may be a new one.
        rows: What was found, in one environment or several; skipped rows say nothing.
        known_ids: The ids of all entries there are.
        addition: Failures that become records of their own.

    Raises:
        InvalidInput: The file cannot be read or edited; or a failure cannot be added: it has no
            reason or link, is on the list, or did not fail, or not always alike.
    """
    adding = addition is not None and bool(addition.ids)
    before = read_text(file) if file.exists() or not adding else ""
    records = records_of(before, file) if before else []
    for number, record in enumerate(records, start=1):
        if any(True for _ in faults_of(record, known_ids)):
            raise InvalidInput(
                f"{file}, failure {number} is not well formed.",
                hint="'forge expectations check' says what is wrong",
            )
    expectations = [expectation_of(record) for record in records]
    measured = [as_measured(row) for row in rows if row.status is not Status.SKIP]
    changes = _Changes()
    for index, expectation in enumerate(expectations):
        others = [*expectations[:index], *expectations[index + 1 :]]
        _judge(index, expectation, _about(expectation, others, measured), known_ids, changes)
    new = _new_records(addition, expectations, measured) if addition and adding else []
    after = rewritten(file, before, records, changes.removed, changes.ends, new)
    return Update(before, after, tuple(changes.notes))


def unlisted(rows: Iterable[CheckResult], expectations: Sequence[Expectation]) -> list[CheckResult]:
    """Find the failures that no known one is about."""
    return [
        row
        for row in map(as_measured, rows)
        if row.status is Status.FAIL and not any(each.applies_to(row) for each in expectations)
    ]


def _about(
    expectation: Expectation, others: Sequence[Expectation], rows: Sequence[CheckResult]
) -> list[CheckResult]:
    """Give the rows by which a record is judged: not those that another record accounts for."""
    return [
        row
        for row in rows
        if expectation.applies_to(row)
        and (
            row.status is Status.PASS
            or expectation.is_met_by(row)
            or not any(other.applies_to(row) and other.is_met_by(row) for other in others)
        )
    ]


def _judge(
    index: int,
    expectation: Expectation,
    rows: Sequence[CheckResult],
    known_ids: Sequence[str],
    changes: _Changes,
) -> None:
    """Add to the changes what the rows mean for one record."""
    by_case: dict[str, dict[Ends, CheckResult]] = {}
    for row in rows:
        by_case.setdefault(row.id, {})[_ends_of(row)] = row
    everything = {ends for found in by_case.values() for ends in found}
    if everything <= {(expectation.stage.value, expectation.reason.value)}:
        return
    name = expectation.case
    missing = [id for id in known_ids if fnmatchcase(id, name) and id not in by_case]
    divided = [id for id, found in by_case.items() if len(found) > 1]
    if divided:
        parts = [f"{divided[0]} {_disagreement(list(by_case[divided[0]].items()))}"]
        parts += [f"so does {id}" for id in divided[1:]]
        changes.notes.append(f"{name}: {', '.join(parts)}; give the record versions or a target")
    elif len(everything) > 1:
        cases = ", ".join(
            f"{id} {_in_words(ends)}" for id, found in by_case.items() for ends in found
        )
        changes.notes.append(f"{name}: its cases differ: {cases}; write one record each")
    elif missing:
        ends = _in_words(everything.pop())
        changes.notes.append(
            f"{name}: what was run {ends}, but the results lack {', '.join(missing)}"
        )
    elif everything == {_PASS}:
        changes.removed.append(index)
    else:
        changes.ends[index] = everything.pop()


def _new_records(
    addition: Addition, expectations: Sequence[Expectation], rows: Sequence[CheckResult]
) -> list[dict[str, str]]:
    if not (addition.why and addition.link):
        raise InvalidInput("a new known failure needs --why and --link.")
    return [
        _new_record(id, addition, expectations, [row for row in rows if row.id == id])
        for id in dict.fromkeys(addition.ids)
    ]


def _new_record(
    id: str,
    addition: Addition,
    expectations: Sequence[Expectation],
    rows: Sequence[CheckResult],
) -> dict[str, str]:
    if any(expectation.applies_to(row) for row in rows for expectation in expectations):
        raise InvalidInput(
            f"{id} is on the list already.", hint="leave it out: its record is changed if it must"
        )
    failed = [row for row in rows if row.status is Status.FAIL]
    if not failed:
        raise InvalidInput(f"{id} did not fail: only a failure can be added.")
    targets = {row.target for row in failed}
    same_place = [row for row in rows if row.target in targets]
    ends = {_ends_of(row): row for row in same_place}
    if len(ends) > 1:
        raise InvalidInput(
            f"{id} {_disagreement(list(ends.items()))}.",
            hint="write its records by hand, with versions or a target",
        )
    stage, reason = _ends_of(failed[0])
    record = {"case": id, "stage": stage, "reason": reason}
    if Stage(stage) not in _WITHOUT_TARGET and len(targets) == 1:
        record["target"] = targets.pop()
    return {**record, "why": addition.why, "link": addition.link}


def _ends_of(row: CheckResult) -> Ends:
    if row.status is Status.PASS or row.stage is None or row.reason is None:
        return _PASS
    return row.stage.value, row.reason.value


def _in_words(ends: Ends) -> str:
    return "passes" if ends == _PASS else f"fails by {ends[1]} at {ends[0]}"


def _disagreement(found: Sequence[tuple[Ends, CheckResult]]) -> str:
    """Say of one case what it does where: only what differs between the rows is told."""
    rows = [row for _, row in found]
    where = [{"target": row.target, **row.versions} for row in rows]
    names = {name for each in where for name in each}
    telling = sorted(n for n in names if len({each.get(n) for each in where}) > 1)
    return " and ".join(
        _in_words(ends)
        + (f" ({', '.join(f'{n} {each[n]}' for n in telling if n in each)})" if telling else "")
        for (ends, _), each in zip(found, where)
    )
