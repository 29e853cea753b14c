"""``forge zoo``: list what can be checked."""

from __future__ import annotations

import argparse
import json
from typing import Any

from validation.cli.model_arguments import FRAMEWORKS


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "zoo", help="list the entries of all zoos", description="List the entries of all zoos."
    )
    parser.add_argument(
        "patterns", nargs="*", metavar="ID", help="entry ids; * and ? match any part"
    )
    parser.add_argument("--suite", help="smoke, full, or a zoo's own")
    parser.add_argument(
        "--framework", action="append", default=[], choices=FRAMEWORKS, help="repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print the entries as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the selected entries."""
    from validation.zoos import installed_zoo, select

    entries = select(
        installed_zoo().entries,
        suite=arguments.suite,
        frameworks=arguments.framework,
        patterns=arguments.patterns,
    )
    if arguments.json:
        records = [
            {"id": e.id, "suites": sorted(e.suites), "description": e.description} for e in entries
        ]
        print(json.dumps(records, indent=1))
    else:
        for entry in entries:
            print(f"{entry.id:<44} {','.join(sorted(entry.suites)):<11} {entry.description}")
    return 0
