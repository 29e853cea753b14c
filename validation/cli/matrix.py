"""``forge matrix``: check zoo entries in the environment at hand."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation.cli.check import add_check_arguments, positive
from validation.cli.model_arguments import FRAMEWORKS

if TYPE_CHECKING:
    from validation.expectations import Expectation
    from validation.result import CheckResult
    from validation.row_file import RowFile
    from validation.zoos import ZooEntry

# No file is named so: --resume without one.
_OF_REPORT = ""


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "matrix",
        help="check zoo entries in the environment at hand",
        description="Check zoo entries in the environment at hand, each in a process of its own.",
        epilog="exit codes: 0 all passed, 1 a check failed, 2 bad usage or input, 3 nothing was "
        "checked, or rows could not be written, 130 interrupted, 143 ended by SIGTERM",
    )
    parser.add_argument(
        "patterns", nargs="*", metavar="ID", help="entry ids; * and ? match any part"
    )
    parser.add_argument("--suite", default=None, help="smoke, full, or a zoo's own")
    parser.add_argument(
        "--framework", action="append", default=[], choices=FRAMEWORKS, help="repeatable"
    )
    parser.add_argument("--jobs", type=positive, default=1, help="cells at the same time")
    parser.add_argument(
        "--report", type=Path, metavar="STEM", help="write STEM.md, STEM.json and STEM.jsonl"
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const=_OF_REPORT,
        metavar="STEM.jsonl",
        help="go on where a run was killed: rows that are finished in the file are kept (default: "
        "the file of --report; without it, what the file has planned is run, and reported beside)",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        metavar="DIR",
        help="where each failure leaves a folder for 'forge replay' (default: STEM-bundles)",
    )
    parser.add_argument("--no-bundles", action="store_true", help="leave no bundles")
    parser.add_argument("--json", action="store_true", help="print result rows as JSON lines")
    add_check_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the selected entries and report on them."""
    from validation.isolation.signals import ended_by_signals
    from validation.requirements import require_checker
    from validation.row_file import RowFileError
    from validation.vocabulary import ExitCode

    require_checker()
    try:
        with ended_by_signals():
            return _run(arguments)
    except RowFileError as error:
        # The checks may well have passed; it is the harness that has not done its work.
        print(f"forge: {error}", file=sys.stderr)
        return ExitCode.NOTHING_CHECKED


def _run(arguments: argparse.Namespace) -> int:
    from validation.expectations import read_expectations
    from validation.report.files import write_report
    from validation.report.summary import summarise
    from validation.report.terminal import print_table
    from validation.zoos import installed_zoo

    zoo = installed_zoo()
    expectations = read_expectations(zoo.expectation_files, [entry.id for entry in zoo.entries])
    stem = _stem(arguments)
    rows = _rows(arguments, zoo.entries, expectations, stem)
    if arguments.json:
        for row in rows:
            print(row.to_json())
    else:
        print_table(rows)
    if stem:
        written = write_report(rows, stem)
        print(f"wrote {', '.join(map(str, written))}", file=sys.stderr)
    return summarise(rows).exit_code


def _stem(arguments: argparse.Namespace) -> Path | None:
    """Give the stem of the report: the one asked for, or that of the file that is resumed."""
    from forge import InvalidInput

    report: Path | None = arguments.report
    if arguments.resume is None:
        return report
    if arguments.resume == _OF_REPORT:
        if not report:
            raise InvalidInput("--resume needs the file to go on with, or the --report it is of.")
        return report
    file = Path(arguments.resume)
    if file.suffix != ".jsonl" or report:
        raise InvalidInput(
            f"--resume is given {str(file)!r}{f' and --report {str(report)!r}' if report else ''}.",
            hint="give --resume STEM.jsonl alone, or --report STEM with a bare --resume at the end",
        )
    if not file.is_file():
        raise InvalidInput(f"there is no file {str(file)!r} to go on with.")
    return file


def _selected(
    arguments: argparse.Namespace, known: Sequence[ZooEntry], file: RowFile | None
) -> list[ZooEntry]:
    """Pick the entries to check: those asked for, or those of the file that is resumed."""
    from validation.resuming import entries_of
    from validation.zoos import select

    is_asked_for = arguments.patterns or arguments.suite or arguments.framework
    if file is not None and arguments.resume not in (None, _OF_REPORT) and not is_asked_for:
        return entries_of(file, arguments.target, known)
    return select(
        known,
        suite=arguments.suite,
        frameworks=arguments.framework,
        patterns=arguments.patterns,
    )


def _rows(
    arguments: argparse.Namespace,
    known: Sequence[ZooEntry],
    expectations: Sequence[Expectation],
    stem: Path | None,
) -> list[CheckResult]:
    from validation.bundles.cleaning import clean
    from validation.bundles.running import Bundling
    from validation.matrix import run_matrix
    from validation.report.files import path_of
    from validation.report.terminal import row_progress
    from validation.row_file import RowFile, finished

    root = _bundle_root(arguments, stem)
    with contextlib.ExitStack() as stack:
        file = None
        if stem:
            _selected(arguments, known, None)  # what is asked for must be there before a file is
            stem.parent.mkdir(parents=True, exist_ok=True)
            resume = arguments.resume is not None
            file = stack.enter_context(RowFile(path_of(stem, ".jsonl"), resume))
            if file.torn:
                _note(f"{file.path}: the last line was torn and is dropped")
            if resume:
                _note(f"{file.path}: {len(finished(file.rows.values()))} rows are finished")
        entries = _selected(arguments, known, file)
        progress = stack.enter_context(row_progress(len(entries), show=not arguments.json))
        rows = run_matrix(
            entries,
            target=arguments.target,
            jobs=arguments.jobs,
            threads=arguments.threads,
            latency=not arguments.no_latency,
            expectations=expectations,
            rows_file=file,
            progress=progress,
            notify=_note,
            run=Bundling(root.resolve()) if root else None,
        )
    if root and root.is_dir():
        clean(root)
        with contextlib.suppress(OSError):  # bundles lie in it
            root.rmdir()
    return rows


def _note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _bundle_root(arguments: argparse.Namespace, stem: Path | None) -> Path | None:
    """Give the folder of bundles: the one asked for, or beside the report; None for no bundles."""
    from validation.report.files import path_of

    if arguments.no_bundles:
        return None
    if arguments.bundle:
        return Path(arguments.bundle)
    return path_of(stem, "-bundles") if stem else None
