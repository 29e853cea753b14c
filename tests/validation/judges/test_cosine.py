from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forge import InvalidInput
from validation.judges.cosine import Cosine
from validation.judges.protocol import Comparison, Context


def compare(ours: Any, reference: Any, least: float, dtype: Any = None) -> Comparison:
    judge = Cosine(least)
    return judge.compare("y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context())


@given(st.floats(0.01, 3.1), st.floats(1e-3, 1e3))
def test_the_angle_decides(angle: float, length: float) -> None:
    reference = np.array([1.0, 0.0])
    ours = length * np.array([np.cos(angle), np.sin(angle)])
    assert compare(ours, reference, np.cos(angle) - 1e-9)
    assert not compare(ours, reference, np.cos(angle) + 1e-9)


def test_angles_too_small_for_a_quotient_of_norms() -> None:
    reference, ours = np.array([1.0, 0.0]), np.array([1.0, 1e-9])
    (note,) = compare(ours, reference, 0.5).notes
    assert float(note.rpartition(" ")[2]) == pytest.approx(5e-19)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_neither_large_nor_small_values_overflow(size: float) -> None:
    assert compare(np.array([3.0, 4.0]) * size, np.array([6.0, 8.0]) * size, 0.999999)
    assert not compare(np.array([3.0, 4.0]) * size, np.array([4.0, -3.0]) * size, 0.5)


def test_zeros_point_nowhere() -> None:
    assert compare([0.0, 0.0], [0.0, 0.0], 1.0)
    assert not compare([0.0, 0.0], [1.0, 0.0], 0.5)
    assert not compare([1.0, 0.0], [0.0, 0.0], 0.5)


def test_a_negated_output_and_a_complex_one() -> None:
    assert not compare([-1.0, -2.0], [1.0, 2.0], 0.0)
    assert compare([1j, 1], [1j, 1], 0.999999, "complex64")
    # A phase is an angle: only the real part of the product counts.
    assert not compare([1j, -1], [1, 1j], 0.9, "complex64")


def test_over_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validation.judges.blocks._SIZE", 2)
    assert compare([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0], 0.9999)
    assert not compare([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, -10.0], 0.9)


def test_a_nan_of_ours_is_wrong() -> None:
    assert not compare([1.0, np.nan], [1.0, 0.0], -1.0)


@pytest.mark.parametrize("least", [-1.1, 1.1, float("nan")])
def test_no_cosine(least: float) -> None:
    with pytest.raises(InvalidInput, match="least"):
        Cosine(least)
