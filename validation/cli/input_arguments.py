"""The arguments that say where inputs come from."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from validation.inputs.plan import InputPlan

_SAMPLES = 3


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what ``plan_of``, ``examples_of`` and ``expected_of`` read."""
    parser.add_argument(
        "--samples",
        type=_positive,
        metavar="N",
        help=f"how many sets of inputs are made up (default: {_SAMPLES})",
    )
    parser.add_argument("--seed", type=_seed, default=0, help="seed of inputs that are made up")
    parser.add_argument(
        "--range",
        action="append",
        default=[],
        type=parse_range,
        metavar="NAME=LO:HI",
        help="lowest and highest value of an input that is made up (repeatable)",
    )
    parser.add_argument(
        "--input-function",
        metavar="FILE.py:NAME",
        help="a function of yours that takes a seed and returns arrays by name; also "
        "package.module:NAME. Its file is executed",
    )
    parser.add_argument(
        "--inputs",
        action="append",
        default=[],
        type=Path,
        metavar="X.npz",
        help="input arrays by name, or one array in an .npy file (repeatable: one sample each)",
    )
    parser.add_argument(
        "--expected",
        action="append",
        default=[],
        type=Path,
        metavar="Y.npz",
        help="outputs to compare with, one for each --inputs; no framework is run",
    )


def plan_of(arguments: argparse.Namespace) -> InputPlan:
    """Make the plan for inputs that are made up.

    Raises:
        InvalidInput: Arguments that exclude each other, or a function that cannot be loaded.
    """
    from forge import InvalidInput
    from validation.inputs.functions import input_function
    from validation.inputs.plan import InputPlan

    made_up = {
        "--samples": arguments.samples,
        "--range": arguments.range,
        "--input-function": arguments.input_function,
    }
    given = [flag for flag, value in made_up.items() if value]
    if arguments.inputs and given:
        raise InvalidInput(f"{' and '.join(given)} cannot be used with --inputs.")
    if arguments.range and arguments.input_function:
        raise InvalidInput("--range cannot be used with --input-function.")
    ranges = dict(arguments.range)
    if len(ranges) < len(arguments.range):
        raise InvalidInput("--range is given twice for one input.")
    text = arguments.input_function
    function = input_function(text) if text else None
    return InputPlan(arguments.samples or _SAMPLES, arguments.seed, ranges, function)


def examples_of(arguments: argparse.Namespace) -> list[dict[str, np.ndarray]]:
    """Read the files of ``--inputs``, one sample each; empty where none is given.

    The array of an ``.npy`` file has no name yet: ``validation.inputs.examples.named`` gives it
    the model's.

    Raises:
        InvalidInput: A file that cannot be read.
    """
    if not arguments.inputs:
        return []
    from validation.inputs.examples import read_arrays

    return [read_arrays(path) for path in arguments.inputs]


def expected_of(arguments: argparse.Namespace) -> list[dict[str, np.ndarray]]:
    """Read the files of ``--expected``, as ``examples_of`` does.

    Raises:
        InvalidInput: A file that cannot be read, or not one for each of ``--inputs``.
    """
    if not arguments.expected:
        return []
    from forge import InvalidInput
    from validation.inputs.examples import read_arrays

    if not arguments.inputs:
        raise InvalidInput("--expected needs --inputs: the arrays that give these outputs.")
    if len(arguments.expected) != len(arguments.inputs):
        raise InvalidInput(
            f"--expected is given {len(arguments.expected)} times and --inputs "
            f"{len(arguments.inputs)} times, expected one for each."
        )
    return [read_arrays(path) for path in arguments.expected]


def parse_range(text: str) -> tuple[str, tuple[float, float]]:
    """Read ``NAME=LO:HI``; the name may hold ``=`` and ``:``.

    Raises:
        argparse.ArgumentTypeError: It has not that form, or holds no numbers.
    """
    name, equals, limits = text.rpartition("=")
    low, colon, high = limits.partition(":")
    numbers = (_number(low), _number(high))
    if not (equals and name and colon):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=LO:HI")
    if not all(map(math.isfinite, numbers)) or numbers[0] > numbers[1]:
        raise argparse.ArgumentTypeError(f"{limits!r} in {text!r} is no range of numbers")
    return name, numbers


def _number(text: str) -> float:
    """Read a number, whole ones exactly; NaN where it is none."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return math.nan


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 0")
    return int(text)
