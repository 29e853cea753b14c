"""``forge report RESULTS…``: make a qualification report of result files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "report",
        help="make a qualification report of result files",
        description="Merge result files and write one qualification report.",
    )
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help=".jsonl or .json")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="STEM", help="write STEM.md and STEM.json"
    )
    parser.add_argument("--json", action="store_true", help="print the merged rows as JSON lines")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Merge, print and write."""
    from validation.report.files import read_rows, write_report
    from validation.report.summary import summarise
    from validation.requirements import require_checker

    require_checker()
    rows = read_rows(arguments.results)
    if arguments.json:
        for row in rows:
            print(row.to_json())
    else:
        from validation.report.terminal import print_table

        print_table(rows)
    if arguments.output:
        write_report(rows, arguments.output)
    return summarise(rows).exit_code
