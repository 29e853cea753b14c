from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge import InvalidInput
from validation.judges.protocol import Comparison, Context
from validation.judges.quantised import Quantised


def compare(ours: Any, reference: Any, dtype: Any = "int8", **given: Any) -> Comparison:
    return Quantised(**given).compare(
        "y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context()
    )


@given(
    offs=st.lists(st.integers(-4, 4), min_size=1, max_size=60),
    steps=st.integers(0, 4),
    share=st.floats(0, 1),
    scale=st.sampled_from([None, 0.05, 3.0]),
)
def test_steps_and_share_decide(
    offs: list[int], steps: int, share: float, scale: float | None
) -> None:
    reference = np.arange(len(offs)) % 50
    ours = reference + offs
    count = sum(off != 0 for off in offs)
    allowed = -(-share * len(offs) // 1)
    expected = max(map(abs, offs)) <= steps and count <= allowed
    if scale is None:
        comparison = compare(ours, reference, steps=steps, share=share)
    else:
        comparison = compare(
            ours * scale, reference * scale, "float32", steps=steps, share=share, scale=scale
        )
    assert bool(comparison) is expected


def test_a_single_element_of_a_small_output_may_be_off() -> None:
    reference = np.arange(10)
    ours = reference.copy()
    ours[3] += 1
    assert compare(ours, reference)
    assert not compare(ours, reference, share=0)
    ours[4] -= 1
    comparison = compare(ours, reference)
    assert not comparison
    assert "2 of 10" in comparison.message
    ours[4] = 6
    assert "more than 1 steps" in compare(ours, reference).message


def test_extremes_are_far_apart() -> None:
    assert not compare([-128, 0], [127, 0], share=1)
    assert not compare([0, 0], [255, 0], "uint8", share=1)
    assert not compare([-(2**15), 0], [2**15 - 1, 0], "int16", share=1)


def test_less_than_half_a_step_is_no_step() -> None:
    assert compare([0.1, 0.2], [0.1, 0.24], "float32", scale=0.1, share=0)
    assert not compare([0.1, 0.2], [0.1, 0.26], "float32", scale=0.1, share=0)


def test_a_nan_of_ours_is_wrong() -> None:
    assert not compare([np.nan, 0.2], [0.1, 0.2], "float32", scale=0.1, share=1)


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool", "float32", "complex64"])
def test_other_outputs_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(InvalidInput, match=f"'y' is {dtype}"):
        compare([1, 0], [1, 0], dtype)


@pytest.mark.parametrize(
    "given", [{"steps": -1}, {"share": 1.5}, {"share": -0.1}, {"scale": 0}, {"scale": -1.0}]
)
def test_parameters_are_checked(given: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(given))):
        Quantised(**given)
