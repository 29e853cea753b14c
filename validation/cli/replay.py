"""``forge replay BUNDLE``: run a failed cell again, and tell whether it fails as it did."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "replay",
        help="run a failed cell again from its bundle",
        description="Run a failed cell again from the bundle that it left, and compare verdicts.",
        epilog="exit codes: 0 it passes now, 1 it still fails, the same way or another, 2 the "
        "bundle cannot be replayed here, 3 it was skipped or the harness failed",
    )
    parser.add_argument("bundle", type=Path, metavar="BUNDLE", help="the bundle's folder")
    parser.add_argument("--target", help="another TVM target than the recorded one")
    parser.add_argument(
        "--trust", action="store_true", help="let code in the bundle run (pickles, Lambda layers)"
    )
    parser.add_argument(
        "--without-model",
        action="store_true",
        help="compare the stored IR, compiled here, with the stored reference; needs no framework",
    )
    parser.add_argument("--no-latency", action="store_true", help="do not measure latency")
    parser.add_argument("--json", action="store_true", help="print what came of it as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Replay one bundle."""
    from validation.bundles.replaying import replay
    from validation.report.terminal import print_row
    from validation.requirements import require_checker
    from validation.vocabulary import ExitCode, Status

    require_checker()
    result = replay(
        arguments.bundle,
        arguments.target,
        trust=arguments.trust,
        without_model=arguments.without_model,
        latency=False if arguments.no_latency else None,
    )
    if arguments.json:
        record = {
            "outcome": result.outcome,
            "expected": result.expected.to_json(),
            "changes": result.changes,
            "environment": result.environment,
            "row": json.loads(result.row.to_json()),
        }
        print(json.dumps(record))
    else:
        print(f"{result.outcome}; recorded: {result.expected}")
        for line in result.changes:
            print(f"  {line}")
        print_row(result.row)
        for line in result.environment:
            print(f"  environment: {line}")
    if result.row.status is Status.SKIP:
        return ExitCode.NOTHING_CHECKED
    return ExitCode.PASSED if result.row.status is Status.PASS else ExitCode.FAILED
