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
    from validation.zoos import ZooEntry


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "matrix",
        help="check zoo entries in the environment at hand",
        description="Check zoo entries in the environment at hand, each in a process of its own.",
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
        action="store_true",
        help="go on with STEM.jsonl: rows that are finished there are kept",
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
    from forge import InvalidInput
    from validation.expectations import read_expectations
    from validation.report.files import write_report
    from validation.report.summary import summarise
    from validation.report.terminal import print_table
    from validation.requirements import require_checker
    from validation.zoos import installed_zoo, select

    require_checker()
    if arguments.resume and not arguments.report:
        raise InvalidInput("--resume needs --report: the STEM of the file to go on with.")
    zoo = installed_zoo()
    expectations = read_expectations(zoo.expectation_files, [entry.id for entry in zoo.entries])
    entries = select(
        zoo.entries,
        suite=arguments.suite,
        frameworks=arguments.framework,
        patterns=arguments.patterns,
    )
    rows = _run(arguments, entries, expectations)
    if arguments.json:
        for row in rows:
            print(row.to_json())
    else:
        print_table(rows)
    if arguments.report:
        written = write_report(rows, arguments.report)
        print(f"wrote {', '.join(map(str, written))}", file=sys.stderr)
    return summarise(rows).exit_code


def _run(
    arguments: argparse.Namespace,
    entries: Sequence[ZooEntry],
    expectations: Sequence[Expectation],
) -> list[CheckResult]:
    from validation.bundles.cleaning import clean
    from validation.bundles.running import Bundling
    from validation.matrix import run_matrix
    from validation.report.files import path_of
    from validation.report.terminal import row_progress
    from validation.row_file import RowFile, finished

    root = _bundle_root(arguments)
    with contextlib.ExitStack() as stack:
        rows_file = None
        if arguments.report:
            arguments.report.parent.mkdir(parents=True, exist_ok=True)
            path = path_of(arguments.report, ".jsonl")
            rows_file = stack.enter_context(RowFile(path, arguments.resume))
            if rows_file.torn:
                print(f"{path}: the last line was torn and is dropped", file=sys.stderr)
            if arguments.resume:
                known = len(finished(rows_file.rows.values()))
                print(f"{path}: {known} rows are finished", file=sys.stderr)
        progress = stack.enter_context(row_progress(len(entries), show=not arguments.json))
        rows = run_matrix(
            entries,
            target=arguments.target,
            jobs=arguments.jobs,
            threads=arguments.threads,
            latency=not arguments.no_latency,
            expectations=expectations,
            rows_file=rows_file,
            progress=progress,
            run=Bundling(root.resolve()) if root else None,
        )
    if root and root.is_dir():
        clean(root)
        with contextlib.suppress(OSError):  # bundles lie in it
            root.rmdir()
    return rows


def _bundle_root(arguments: argparse.Namespace) -> Path | None:
    """Give the folder of bundles: the one asked for, or beside the report; None for no bundles."""
    from validation.report.files import path_of

    if arguments.no_bundles:
        return None
    if arguments.bundle:
        return Path(arguments.bundle)
    return path_of(arguments.report, "-bundles") if arguments.report else None
