"""Names of outputs."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import pytest

pytest.importorskip("torch")

from forge.prepare.torch.outputs import flatten_outputs

Pair = namedtuple("Pair", "first second")


@dataclass
class Result:
    logits: int
    states: tuple[int, int]


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (1, ["output0"]),
        ((1, [2, 3]), ["output0", "output1", "output2"]),
        ({"b": 1, "a": 2}, ["b", "a"]),
        ({"a": (1, None, [2])}, ["a.0", "a.2.0"]),
        ((1, {"x": 2}), ["output0", "1.x"]),
        ((None, 1), ["output0"]),
        (Pair(1, 2), ["first", "second"]),
        (Result(1, (2, 3)), ["logits", "states.0", "states.1"]),
    ],
)
def test_names_follow_the_structure(result: object, names: list[str]) -> None:
    assert [name for name, _ in flatten_outputs(result)] == names


def test_leaves_come_left_to_right() -> None:
    assert [leaf for _, leaf in flatten_outputs({"b": 3, "a": (1, 2)})] == [3, 1, 2]
