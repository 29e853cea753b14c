"""The arguments that say how outputs are judged."""

from __future__ import annotations

import argparse
import math


def add_judge_arguments(parser: argparse.ArgumentParser) -> None:
    """Add ``--judge``, ``--rtol`` and ``--atol``."""
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        metavar="[OUTPUT=]SPEC",
        help="how outputs are compared: exact, allclose:rtol=1e-3,atol=1e-5, ulp:4, "
        "cosine:0.999, l2:1e-3, topk:5, float64:2, quantised:steps=1,share=0.01; for one output "
        "or for all others (repeatable; default: float64, integers exact)",
    )
    parser.add_argument("--rtol", type=tolerance, help="relative tolerance")
    parser.add_argument("--atol", type=tolerance, help="absolute tolerance")


def judges_of(arguments: argparse.Namespace) -> dict[str, str]:
    """Give the judges' texts by output name, ``*`` for all others.

    Raises:
        InvalidInput: A text that names no judge, or two for one output.
    """
    from forge import InvalidInput
    from validation.judges.selection import parse_judge

    chosen: dict[str, str] = {}
    for text in arguments.judge:
        output, spec = _split(text)
        parse_judge(spec)
        if output in chosen:
            which = "all outputs" if output == "*" else f"output {output!r}"
            raise InvalidInput(f"--judge is given twice for {which}: {chosen[output]}, {spec}.")
        chosen[output] = spec
    return chosen


def tolerance(text: str) -> float:
    """Read a tolerance.

    Raises:
        argparse.ArgumentTypeError: It is no finite number of at least 0; NaN and infinity would
            pass anything.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no finite number of at least 0")
    return value


def _split(text: str) -> tuple[str, str]:
    """Split at the first ``=`` that a judge follows: names and parameters hold others."""
    from validation.judges.selection import is_judge

    if is_judge(text):
        return "*", text
    places = [place for place, letter in enumerate(text) if letter == "="]
    for place in places:
        if place and is_judge(text[place + 1 :]):
            return text[:place], text[place + 1 :]
    if places and places[0] and ":" not in text[: places[0]]:
        # Its judge is unknown: an error that names the judge helps more than one on all of it.
        return text[: places[0]], text[places[0] + 1 :]
    return "*", text
