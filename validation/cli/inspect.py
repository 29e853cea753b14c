"""``forge inspect MODEL``: load a model and show what became of it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from validation.cli.model_arguments import add_model_arguments


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "inspect",
        help="load a model and show its inputs, outputs, operators and history",
        description="Load a model and show its inputs, outputs, operators and what was done to it.",
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--script", action="store_true", help="print the folded module as TVMScript"
    )
    parser.add_argument("--json", action="store_true", help="print it all as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load and print."""
    from forge import TensorSpec
    from validation.cli.loading import describe_file

    record = describe_file(arguments, arguments.script)
    if arguments.json:
        print(json.dumps(record, indent=1))
        return 0
    for label in ("inputs", "outputs"):
        print(label)
        for spec in record[label]:
            print(f"  {TensorSpec(spec['name'], tuple(spec['shape']), spec['dtype'])}")
    print("operators")
    for name, count in record["operators"].items():
        print(f"  {count:5d}  {name}")
    print("history")
    for step in record["history"]:
        print(f"  {step['name']}: {step['count']} ({step['reason']})")
        for detail in step["details"]:
            print(f"    {detail}")
    if arguments.script:
        print(record["script"])
    return 0
