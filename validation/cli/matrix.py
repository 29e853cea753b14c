"""``forge matrix``: check zoo entries in the environment at hand."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from validation.cli.check import add_check_arguments, positive
from validation.cli.model_arguments import FRAMEWORKS


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
    parser.add_argument("--json", action="store_true", help="print result rows as JSON lines")
    add_check_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the selected entries and report on them."""
    from validation.expectations import read_expectations
    from validation.matrix import run_matrix
    from validation.report.files import path_of, write_report
    from validation.report.summary import summarise
    from validation.report.terminal import print_table, row_progress
    from validation.requirements import require_checker
    from validation.zoos import installed_zoo, select

    require_checker()
    zoo = installed_zoo()
    expectations = read_expectations(zoo.expectation_files, [entry.id for entry in zoo.entries])
    entries = select(
        zoo.entries,
        suite=arguments.suite,
        frameworks=arguments.framework,
        patterns=arguments.patterns,
    )
    results = None
    if arguments.report:
        arguments.report.parent.mkdir(parents=True, exist_ok=True)
        results = path_of(arguments.report, ".jsonl")
        results.write_text("", encoding="utf-8")
    with row_progress(len(entries), show=not arguments.json) as progress:
        rows = run_matrix(
            entries,
            target=arguments.target,
            jobs=arguments.jobs,
            threads=arguments.threads,
            latency=not arguments.no_latency,
            expectations=expectations,
            results_file=results,
            progress=progress,
        )
    if arguments.json:
        for row in rows:
            print(row.to_json())
    else:
        print_table(rows)
    if arguments.report:
        written = write_report(rows, arguments.report)
        print(f"wrote {', '.join(map(str, written))}", file=sys.stderr)
    return summarise(rows).exit_code
