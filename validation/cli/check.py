"""``forge check MODEL``: run a model natively and through Forge, and compare."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from validation.cli.input_arguments import (
    add_input_arguments,
    examples_of,
    expected_of,
    plan_of,
)
from validation.cli.judge_arguments import add_judge_arguments, judges_of
from validation.cli.model_arguments import add_model_arguments

if TYPE_CHECKING:
    import numpy as np

    from validation.case import Case
    from validation.result import CheckResult
    from validation.vocabulary import ExitCode


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "check",
        help="run a model natively and through Forge, and compare",
        description="Run a model natively and through Forge, and compare outputs and latency.",
    )
    add_model_arguments(parser)
    add_check_arguments(parser)
    add_input_arguments(parser)
    add_judge_arguments(parser)
    parser.add_argument(
        "--against",
        type=Path,
        metavar="OTHER_MODEL",
        help="check another way to the same model on the same inputs, and compare the outputs",
    )
    parser.add_argument(
        "--bundle",
        type=Path,
        nargs="?",
        const=Path("forge-bundles"),
        metavar="DIR",
        help="leave a folder that replays a failure (default: forge-bundles)",
    )
    parser.add_argument("--json", action="store_true", help="print the result row as JSON")
    parser.set_defaults(run=run)


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what every command that runs checks takes."""
    parser.add_argument("--target", default="llvm", help="TVM target (default: llvm)")
    parser.add_argument("--threads", type=positive, default=1, help="threads of each runtime")
    parser.add_argument("--no-latency", action="store_true", help="do not measure latency")


def run(arguments: argparse.Namespace) -> int:
    """Check one file."""
    from validation.bundles.cleaning import clean
    from validation.bundles.running import Bundling
    from validation.isolation import WorkerPool
    from validation.requirements import require_checker

    require_checker()
    case = _case(arguments)
    if arguments.against:
        return _run_against(arguments, case)
    bundling = Bundling(arguments.bundle.resolve()) if arguments.bundle else None
    with WorkerPool(threads=arguments.threads) as pool:
        row = pool.submit(case, arguments.target, bundling).result()
    if bundling is not None and bundling.root.is_dir():
        clean(bundling.root)
    if arguments.json:
        print(row.to_json())
    else:
        from validation.report.terminal import print_row

        print_row(row)
    return exit_code_of(row)


def _case(arguments: argparse.Namespace) -> Case:
    from validation.checking import case_of_file
    from validation.cli.model_arguments import loader_options
    from validation.references import framework_of_path

    framework = framework_of_path(arguments.model, arguments.framework).name
    plan, samples = plan_of(arguments), examples_of(arguments)
    return case_of_file(
        arguments.model,
        framework=framework,
        samples=samples,
        options=loader_options(arguments, framework, samples[0] if samples else None),
        trust=arguments.trust,
        rtol=arguments.rtol,
        atol=arguments.atol,
        judges=judges_of(arguments),
        plan=plan,
        threads=arguments.threads,
        latency=not arguments.no_latency,
        reference_outputs=tuple(expected_of(arguments)) or None,
    )


def _run_against(arguments: argparse.Namespace, case: Case) -> int:
    from validation.against import check_against
    from validation.checking import case_of_file, options_of_arrays
    from validation.references import framework_of_path
    from validation.report.agreement import agreement_record, print_agreement
    from validation.vocabulary import ExitCode

    framework = framework_of_path(arguments.against).name

    def other(inputs: Mapping[str, np.ndarray]) -> Case:
        return case_of_file(
            arguments.against,
            options=options_of_arrays(framework, inputs),
            trust=arguments.trust,
            rtol=arguments.rtol,
            atol=arguments.atol,
            judges=case.judges,
            threads=arguments.threads,
            latency=not arguments.no_latency,
        )

    agreement = check_against(case, other, arguments.target)
    if arguments.json:
        print(json.dumps(agreement_record(agreement)))
    else:
        print_agreement(agreement)
    codes = [exit_code_of(row) for row in (agreement.row, agreement.other) if row is not None]
    return max(codes) or (ExitCode.PASSED if agreement else ExitCode.FAILED)


def exit_code_of(row: CheckResult) -> ExitCode:
    """Give the exit code for one checked model: what the loader refuses is bad input."""
    from validation.report.summary import summarise
    from validation.vocabulary import REFUSED, ExitCode

    return ExitCode.BAD_INPUT if row.reason in REFUSED else summarise([row]).exit_code


def positive(text: str) -> int:
    """Read a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)
