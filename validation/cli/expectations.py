"""``forge expectations``: check the lists of known failures, or bring them up to date."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.expectations.updating import Update


def register(commands: Any) -> None:
    """Add the command and its two actions to the parser."""
    parser = commands.add_parser(
        "expectations",
        help="check the lists of known failures, or update them by results",
        description="Check the lists of known failures, or update them by what runs have found.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser(
        "check",
        help="say all that is wrong with the lists",
        description="Say all that is wrong with the lists; no framework is imported.",
        epilog="exit codes: 0 well formed, 2 not",
    )
    check.add_argument("files", nargs="*", type=Path, metavar="FILE", help="default: all zoos'")
    check.add_argument(
        "--results",
        nargs="+",
        default=[],
        type=Path,
        metavar="RESULTS",
        help="say which known failures these did not need",
    )
    check.add_argument("--json", action="store_true", help="print what was found as JSON")
    check.set_defaults(run=run_check)
    update = actions.add_parser(
        "update",
        help="remove what passes now, change what fails otherwise, add what is new",
        description="Rewrite the lists by what runs have found; comments and order are kept.",
        epilog="exit codes: 0 the lists say what was found, 1 something is left to a person, "
        "2 bad input",
    )
    update.add_argument("results", nargs="+", type=Path, metavar="RESULTS", help=".jsonl or .json")
    update.add_argument("--file", type=Path, help="the list (default: all zoos')")
    update.add_argument("--dry-run", action="store_true", help="show the change, write nothing")
    update.add_argument(
        "--add", action="append", default=[], metavar="ID", help="add this failure (repeatable)"
    )
    update.add_argument("--why", default="", help="why what is added fails, in a sentence")
    update.add_argument("--link", default="", help="where what is added is tracked")
    update.add_argument("--json", action="store_true", help="print what was done as JSON")
    update.set_defaults(run=run_update)


def run_check(arguments: argparse.Namespace) -> int:
    """Read the lists, importing no framework."""
    from validation.expectations import read_expectations
    from validation.expectations.usage import unused
    from validation.report.files import read_rows
    from validation.zoos import installed_zoo

    zoo = installed_zoo()
    files = arguments.files or list(zoo.expectation_files)
    found = read_expectations(files, [entry.id for entry in zoo.entries])
    rows = read_rows(arguments.results, by_versions=True)
    lines = unused(found, rows) if arguments.results else []
    if arguments.json:
        record = {"files": list(map(str, files)), "failures": len(found), "unused": lines}
        print(json.dumps(record, indent=1))
        return 0
    print(f"{len(found)} known failures in {', '.join(map(str, files)) or 'no file'}: well formed")
    for line in lines:
        print(f"not needed: {line}")
    return 0


def run_update(arguments: argparse.Namespace) -> int:
    """Rewrite the lists, and show what was changed."""
    from forge.files import write_whole
    from validation.expectations.reading import read_expectations
    from validation.expectations.updating import Addition, unlisted, update_expectations
    from validation.report.files import read_rows
    from validation.zoos import installed_zoo

    zoo = installed_zoo()
    ids = [entry.id for entry in zoo.entries]
    rows = read_rows(arguments.results, by_versions=True)
    files = _files(arguments, zoo.expectation_files, {row.id for row in rows})
    addition = Addition(arguments.add, arguments.why, arguments.link)
    updates = {file: update_expectations(file, rows, ids, addition) for file in files}
    for file, update in updates.items():
        if update.before != update.after and not arguments.dry_run:
            write_whole(file, update.after)
    listed = {*zoo.expectation_files, *(file for file in files if file.exists())}
    left = [
        row.id
        for row in unlisted(rows, read_expectations(sorted(listed), ids))
        if row.id not in arguments.add
    ]
    _tell(arguments, updates, list(dict.fromkeys(left)))
    return 1 if left or any(update.notes for update in updates.values()) else 0


def _files(arguments: argparse.Namespace, known: Sequence[Path], ids: set[str]) -> list[Path]:
    from forge import InvalidInput
    from validation.zoos import nearest

    for name in arguments.add:
        if name not in ids:
            raise InvalidInput(f"the results have no row {name!r}.", nearest(name, sorted(ids)))
    if arguments.file:
        return [arguments.file]
    if not known or (arguments.add and len(known) > 1):
        raise InvalidInput(
            f"there are {len(known)} lists: {', '.join(map(str, known)) or 'none'}.",
            hint="say which one with --file",
        )
    return list(known)


def _tell(arguments: argparse.Namespace, updates: dict[Path, Update], left: list[str]) -> None:
    records = []
    for file, update in updates.items():
        lines = (update.before.splitlines(), update.after.splitlines())
        difference = list(difflib.unified_diff(*lines, str(file), str(file), lineterm="", n=1))
        changed = update.before != update.after
        records.append(
            {"file": str(file), "changed": changed, "diff": difference, "notes": update.notes}
        )
        if arguments.json:
            continue
        for line in difference:
            print(line)
        for note in update.notes:
            print(f"left alone: {note}")
        state = "not written (--dry-run)" if arguments.dry_run else "written"
        print(f"{file}: {state if changed else 'nothing to change'}")
    if arguments.json:
        print(json.dumps({"lists": records, "unlisted": left}, indent=1))
    elif left:
        print(f"not on a list: {', '.join(left)}")
        print("  add them with --add ID --why SENTENCE --link URL", file=sys.stderr)
