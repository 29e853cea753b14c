"""``forge expectations``: check the lists of known failures, or bring them up to date."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import Any


def register(commands: Any) -> None:
    """Add the command and its two actions to the parser."""
    parser = commands.add_parser(
        "expectations",
        help="check the lists of known failures, or update them by results",
        description="Check the lists of known failures, or update them by what a run has found.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="say all that is wrong with the lists")
    check.add_argument("files", nargs="*", type=Path, metavar="FILE", help="default: all zoos'")
    check.set_defaults(run=run_check)
    update = actions.add_parser(
        "update",
        help="remove what passes now, change what fails otherwise, add what is new",
        description="Rewrite a list by what a run has found; comments and order are kept.",
    )
    update.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help=".jsonl or .json")
    update.add_argument("--file", type=Path, help="the list; needed where there are several zoos")
    update.add_argument("--dry-run", action="store_true", help="show the change, write nothing")
    update.add_argument(
        "--add", action="append", default=[], metavar="ID", help="add this failure (repeatable)"
    )
    update.add_argument("--why", default="", help="why what is added fails, in a sentence")
    update.add_argument("--link", default="", help="where what is added is tracked")
    update.set_defaults(run=run_update)


def run_check(arguments: argparse.Namespace) -> int:
    """Read the lists, importing no framework."""
    from validation.expectations import read_expectations
    from validation.zoos import installed_zoo

    zoo = installed_zoo()
    files = arguments.files or list(zoo.expectation_files)
    found = read_expectations(files, [entry.id for entry in zoo.entries])
    print(f"{len(found)} known failures in {', '.join(map(str, files)) or 'no file'}: well formed")
    return 0


def run_update(arguments: argparse.Namespace) -> int:
    """Rewrite one list, and show what was changed."""
    from forge import InvalidInput
    from forge.files import write_whole
    from validation.expectations.updating import update_expectations
    from validation.report.files import read_rows
    from validation.zoos import installed_zoo, nearest

    rows = {row.id: row for row in read_rows(arguments.results)}
    unknown = [name for name in arguments.add if name not in rows]
    if unknown:
        raise InvalidInput(
            f"the results have no row {unknown[0]!r}.", hint=nearest(unknown[0], list(rows))
        )
    files = [arguments.file] if arguments.file else list(installed_zoo().expectation_files)
    if len(files) != 1:
        raise InvalidInput(
            f"there are {len(files)} lists: {', '.join(map(str, files))}.",
            hint="say which one with --file",
        )
    added = [rows[name] for name in arguments.add]
    update = update_expectations(
        files[0], list(rows.values()), added, arguments.why, arguments.link
    )
    name = str(files[0])
    lines = (update.before.splitlines(), update.after.splitlines())
    for line in difflib.unified_diff(*lines, name, name, lineterm="", n=1):
        print(line)
    for note in update.notes:
        print(f"left alone: {note}")
    if update.before == update.after:
        print(f"{name}: nothing to change")
    elif arguments.dry_run:
        print(f"{name}: not written (--dry-run)")
    else:
        write_whole(files[0], update.after)
        print(f"{name}: written; a list that grows needs a line in CHANGELOG")
    return 0
