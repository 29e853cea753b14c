"""Decide what of a killed run still counts when it is gone on with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from forge import InvalidInput
from validation import environment
from validation.case import Case
from validation.references import framework_named
from validation.result import CheckResult
from validation.row_file import RowFile, finished
from validation.vocabulary import Status
from validation.zoos import ZooEntry, nearest


def why_again(row: CheckResult, case: Case) -> str:
    """Say why a row on disk is not what the case would give here; empty where it is.

    It counts if it is finished, if the versions of Forge, TVM, the framework, Python and the
    platform are those at hand, and so are the processor, the number of threads, and whether
    latencies are measured. A time-out or a crash is finished; a cell that was skipped is tried
    again.
    """
    if row.is_unfinished:
        return "it was not finished"
    if row.status is Status.SKIP:
        return "it had been skipped"
    try:
        here = environment.versions(framework_named(case.framework).packages)
    except InvalidInput as error:
        return error.message
    names = {**row.versions, **here}
    differing = [_difference(n, row.versions, here) for n in names]
    settings = {"processor": environment.processor(), "threads": str(case.threads)}
    differing += [_difference(n, row.environment, settings) for n in settings]
    if any(differing):
        return "; ".join(filter(None, differing))
    if case.latency and row.status is Status.PASS and not row.latency:
        return "it has no latencies"
    return ""


def entries_of(file: RowFile, target: str, known: Iterable[ZooEntry]) -> list[ZooEntry]:
    """Find the entries of the cells that a file plans for a target.

    Raises:
        InvalidInput: It has no finished row, so that not even all cells may have been planned; it
            is of other targets; or an entry is not there any more.
    """
    if not finished(file.rows.values()):
        raise InvalidInput(
            f"{file.path} has no finished row: there is nothing to go on with.",
            hint="run the matrix anew, with what it is to check",
        )
    targets = {row_target for _, row_target in file.rows}
    if targets != {target}:
        raise InvalidInput(
            f"{file.path} is of the target {', '.join(sorted(targets))}, and this run of {target}.",
            hint="give the same --target, or another --report",
        )
    entries = {entry.id: entry for entry in known}
    ids = [name for name, _ in file.rows]
    missing = [name for name in ids if name not in entries]
    if missing:
        raise InvalidInput(
            f"{file.path} has cells that no zoo has any more: {', '.join(missing)}.",
            hint=nearest(missing[0], list(entries)),
        )
    return [entries[name] for name in ids]


def tell_again(reasons: Sequence[tuple[str, str]]) -> str:
    """Say in one line which finished cells are run again, and why."""
    (first, why), *others = reasons
    more = f", and {len(others)} more" if others else ""
    return f"finished rows that do not count here are run again: {first} ({why}){more}"


def _difference(name: str, then: Mapping[str, str], now: Mapping[str, str]) -> str:
    if then.get(name) == now.get(name):
        return ""
    return f"{name} was {then.get(name, 'not there')}, here {now.get(name, 'not there')}"
