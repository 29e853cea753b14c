from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forge import InvalidInput
from validation.cli.input_arguments import (
    add_input_arguments,
    examples_of,
    expected_of,
    parse_range,
    plan_of,
)
from validation.inputs.plan import InputPlan


def parse(*words: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_input_arguments(parser)
    return parser.parse_args([str(word) for word in words])


def test_the_defaults_are_those_of_a_plan() -> None:
    assert plan_of(parse()) == InputPlan()
    assert examples_of(parse()) == expected_of(parse()) == []


def test_a_plan() -> None:
    plan = plan_of(
        parse("--samples", 2, "--seed", 7, "--range", "a=-1:1", "--range", "b:0=0:30521")
    )
    assert plan == InputPlan(2, 7, {"a": (-1, 1), "b:0": (0, 30521)})


@pytest.mark.parametrize(
    ("text", "name", "limits"),
    [
        ("x=0:1", "x", (0, 1)),
        ("x=-1.5:2e3", "x", (-1.5, 2000)),
        ("a=b:0=1:1", "a=b:0", (1, 1)),
        ("x=0:18446744073709551615", "x", (0, 2**64 - 1)),
    ],
)
def test_ranges(text: str, name: str, limits: tuple[float, float]) -> None:
    assert parse_range(text) == (name, limits)


@pytest.mark.parametrize(
    "text", ["", "x", "x=", "x=1", "=0:1", "0:1", "x=1:0", "x=a:b", "x=:1", "x=nan:1", "x=0:inf"]
)
def test_what_is_no_range(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_range(text)


@pytest.mark.parametrize(
    "words", [("--samples", "0"), ("--samples", "x"), ("--seed", "-1"), ("--range", "x=1")]
)
def test_bad_values(words: tuple[str, str]) -> None:
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parse(*words)


def test_a_function(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def make(seed):\n    return {'x': seed}\n")
    function = plan_of(parse("--input-function", f"{file}:make")).function
    assert function is not None
    assert function(3) == {"x": 3}
    with pytest.raises(InvalidInput, match="no function"):
        plan_of(parse("--input-function", f"{file}:others"))


def test_arguments_that_exclude_each_other(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def make(seed):\n    return {}\n")
    for words in (("--samples", 2), ("--range", "x=0:1"), ("--input-function", f"{file}:make")):
        with pytest.raises(InvalidInput, match=str(words[0])):
            plan_of(parse("--inputs", "x.npz", *words))
    with pytest.raises(InvalidInput, match="--range"):
        plan_of(parse("--range", "x=0:1", "--input-function", f"{file}:make"))
    with pytest.raises(InvalidInput, match="twice"):
        plan_of(parse("--range", "x=0:1", "--range", "x=0:2"))


def test_examples_and_what_is_expected_of_them(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a.npz", "b.npz", "c.npy", "d.npz")]
    for number, path in enumerate(paths):
        array = np.full(2, number)
        np.save(path, array) if path.suffix == ".npy" else np.savez(path, x=array)
    first, second, third, fourth = paths
    examples = examples_of(parse("--inputs", first, "--inputs", third))
    assert [list(arrays) for arrays in examples] == [["x"], [""]]
    assert [int(array[0]) for arrays in examples for array in arrays.values()] == [0, 2]
    both = ("--inputs", first, "--inputs", second)
    expected = expected_of(parse(*both, "--expected", third, "--expected", fourth))
    assert [int(array[0]) for arrays in expected for array in arrays.values()] == [2, 3]
    with pytest.raises(InvalidInput, match="1 times and --inputs 2 times"):
        expected_of(parse(*both, "--expected", third))
    with pytest.raises(InvalidInput, match="needs --inputs"):
        expected_of(parse("--expected", third))
    with pytest.raises(InvalidInput, match=r"nowhere\.npz"):
        examples_of(parse("--inputs", tmp_path / "nowhere.npz"))


def test_help_imports_no_numpy() -> None:
    code = (
        "import argparse, sys\n"
        "from validation.cli.input_arguments import add_input_arguments\n"
        "from validation.cli.judge_arguments import add_judge_arguments\n"
        "parser = argparse.ArgumentParser()\n"
        "add_input_arguments(parser)\n"
        "add_judge_arguments(parser)\n"
        "assert '--judge' in parser.format_help()\n"
        "print('numpy' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
