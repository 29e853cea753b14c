"""Show rows on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from forge.frameworks import require
from validation.report.row_text import row_lines
from validation.report.summary import by_framework, latency_ratio, milliseconds, summarise
from validation.result import CheckResult
from validation.vocabulary import Status

_COLOURS = {
    Status.PASS: "green",
    Status.FAIL: "red",
    Status.XFAIL: "yellow",
    Status.XPASS: "magenta",
    Status.SKIP: "cyan",
}


@contextmanager
def row_progress(total: int, show: bool) -> Iterator[Callable[[CheckResult], None]]:
    """Report finished rows: a bar on a terminal, a line a row elsewhere."""
    if not show:
        yield lambda row: None
    elif sys.stderr.isatty():
        progress_module = require("rich.progress", "showing progress")
        columns = [
            *progress_module.Progress.get_default_columns(),
            progress_module.TextColumn("{task.fields[last]}"),
        ]
        with progress_module.Progress(*columns, console=_console(stderr=True)) as bar:
            task = bar.add_task("cells", total=total, last="")
            yield lambda row: bar.update(task, advance=1, last=row.id)
    else:
        count = 0

        def line(row: CheckResult) -> None:
            nonlocal count
            count += 1
            print(f"[{count}/{total}] {row.status.value:<5} {row.id}", file=sys.stderr, flush=True)

        yield line


def print_table(rows: Sequence[CheckResult]) -> None:
    """Print a table of all rows, what went wrong, and the counts over the whole."""
    rich_table = require("rich.table", "printing a table")
    console = _console()
    table = rich_table.Table(title="cells", title_justify="left")
    for name, side in (("cell", "left"), ("status", "left"), ("ended at", "left")):
        table.add_column(name, justify=side, overflow="fold")
    for name in ("max abs error", "native ms", "Forge ms", "ratio", "s"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*_columns(row))
    console.print(table)
    for row in rows:
        if row.status is not Status.PASS:
            blamed = f" [blame {row.blame.value}]" if row.blame else ""
            text = f"{row.status.value} {row.id}{blamed}: {row.message}"
            if row.expectation and row.status is Status.XFAIL:
                text += f"; expected: {row.expectation}"
            console.print(text, markup=False, style="bold")
    counts = summarise(rows)
    for name, part in by_framework(rows).items():
        console.print(f"{name:<11} {part.line()}", markup=False)
    console.print(f"{counts.verdict}: {counts.line()}", markup=False, style="bold")


def print_row(row: CheckResult) -> None:
    """Print one row at length."""
    console = _console()
    colour = _COLOURS[row.status]
    where = f" at {row.stage.value}, {row.reason.value}" if row.stage and row.reason else ""
    console.print(f"[bold {colour}]{row.status.value}[/]{where}", end="  ", highlight=False)
    console.print(row.id, markup=False, highlight=False)
    for line in row_lines(row):
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)


def _columns(row: CheckResult) -> list[str]:
    ended = f"{row.stage.value}: {row.reason.value}" if row.stage and row.reason else ""
    native, forge, ratio = (
        milliseconds(row, "native"),
        milliseconds(row, "forge"),
        latency_ratio(row),
    )
    return [
        require("rich.markup", "printing a table").escape(row.id),
        f"[{_COLOURS[row.status]}]{row.status.value}[/]",
        ended,
        f"{row.max_absolute:.1e}" if row.comparisons else "",
        f"{native:.2f}" if native is not None else "",
        f"{forge:.2f}" if forge is not None else "",
        f"{ratio:.1f}" if ratio is not None else "",
        f"{sum(row.stage_seconds.values()):.1f}",
    ]


def _console(stderr: bool = False) -> Any:
    console_module = require("rich.console", "printing to the terminal")
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else 140
    return console_module.Console(stderr=stderr, width=width)
