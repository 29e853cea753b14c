"""``forge inspect MODEL``: load a model and show what became of it."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
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
    from validation.cli.loading import load_file

    ir = load_file(arguments)
    if arguments.json:
        record = {
            "inputs": [asdict(spec) for spec in ir.inputs],
            "outputs": [asdict(spec) for spec in ir.outputs],
            "operators": dict(ir.operators.most_common()),
            "history": [asdict(step) for step in ir.history],
        }
        if arguments.script:
            record["script"] = ir.script()
        print(json.dumps(record, indent=1))
        return 0
    for label, specs in (("inputs", ir.inputs), ("outputs", ir.outputs)):
        print(label)
        for spec in specs:
            print(f"  {spec}")
    print("operators")
    for name, count in ir.operators.most_common():
        print(f"  {count:5d}  {name}")
    print("history")
    for step in ir.history:
        print(f"  {step.name}: {step.count} ({step.reason})")
        for detail in step.details:
            print(f"    {detail}")
    if arguments.script:
        print(ir.script())
    return 0
