"""``forge check MODEL``: run a model natively and through Forge, and compare."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from validation.cli.model_arguments import add_model_arguments


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="run a model natively and through Forge, and compare",
        description="Run a model natively and through Forge, and compare outputs and latency.",
    )
    add_model_arguments(parser)
    add_check_arguments(parser)
    parser.add_argument("--inputs", type=Path, metavar="X.npz", help="input arrays by name")
    parser.add_argument(
        "--expected",
        type=Path,
        metavar="Y.npz",
        help="outputs to compare with; no framework is run",
    )
    parser.add_argument("--rtol", type=_tolerance, help="relative tolerance")
    parser.add_argument("--atol", type=_tolerance, help="absolute tolerance")
    parser.add_argument("--seed", type=_seed, default=0, help="seed of inputs that are made up")
    parser.add_argument("--json", action="store_true", help="print the result row as JSON")
    parser.set_defaults(run=run)


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every command that runs checks takes."""
    parser.add_argument("--target", default="llvm", help="TVM target (default: llvm)")
    parser.add_argument("--threads", type=positive, default=1, help="threads of each runtime")
    parser.add_argument("--no-latency", action="store_true", help="do not measure latency")


def run(arguments: argparse.Namespace) -> int:
    """Check one file."""
    from forge import InvalidInput
    from validation.checking import case_of_file
    from validation.cli.model_arguments import loader_options, read_arrays
    from validation.isolation import WorkerPool
    from validation.references import framework_of_path
    from validation.report.summary import summarise
    from validation.requirements import require_checker
    from validation.vocabulary import REFUSED, ExitCode

    require_checker()
    if arguments.expected and not arguments.inputs:
        raise InvalidInput("--expected needs --inputs: the arrays that give these outputs.")
    framework = framework_of_path(arguments.model, arguments.framework).name
    arrays = read_arrays(arguments.inputs) if arguments.inputs else None
    expected = read_arrays(arguments.expected) if arguments.expected else None
    case = case_of_file(
        arguments.model,
        framework=framework,
        inputs=arrays,
        options=loader_options(arguments, framework, arrays),
        trust=arguments.trust,
        rtol=arguments.rtol,
        atol=arguments.atol,
        seed=arguments.seed,
        threads=arguments.threads,
        latency=not arguments.no_latency,
        reference_outputs=(expected,) if expected is not None else None,
    )
    with WorkerPool(threads=arguments.threads) as pool:
        row = pool.submit(case, arguments.target).result()
    if arguments.json:
        print(row.to_json())
    else:
        from validation.report.terminal import print_row

        print_row(row)
    if row.reason in REFUSED:
        return ExitCode.BAD_INPUT
    return summarise([row]).exit_code


def positive(text: str) -> int:
    """Read a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    # NaN and infinity would pass anything.
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no finite number of at least 0")
    return value
