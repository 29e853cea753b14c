from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from forge import InvalidInput
from validation.judges.exact import Exact
from validation.judges.protocol import Comparison, Context
from validation.vocabulary import Reason


def compare(ours: Any, reference: Any, dtype: Any = None, **given: Any) -> Comparison:
    return Exact(**given).compare(
        "y", np.asarray(ours, dtype), np.asarray(reference, dtype), Context()
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64", "uint8", "bool"])
@given(data=st.data())
def test_a_planted_wrong_element_is_found_where_it_is(dtype: str, data: st.DataObject) -> None:
    elements = hnp.from_dtype(np.dtype(dtype), **_finite(dtype))
    shape = hnp.array_shapes(max_dims=3, max_side=5)
    reference = data.draw(hnp.arrays(dtype, shape, elements=elements))
    place = data.draw(st.integers(0, reference.size - 1))
    ours = reference.copy()
    ours.reshape(-1)[place] = data.draw(elements)
    comparison = compare(ours, reference)
    planted = ours.reshape(-1)[place] != reference.reshape(-1)[place]
    assert bool(comparison) is not bool(planted)
    if planted:
        assert comparison.worst_index == np.unravel_index(place, reference.shape)
        assert comparison.reason is Reason.WRONG_VALUES


def _finite(dtype: str) -> dict[str, Any]:
    if np.dtype(dtype).kind == "f":
        return {"allow_nan": False, "allow_infinity": False}
    return {}


def test_one_in_ten_thousand_million_th_is_too_much() -> None:
    assert not compare([1.0, 1.0 + 2**-52], [1.0, 1.0])
    assert compare([0.0], [-0.0])
    # Beside the largest float64, where differences are taken in another unit.
    assert not compare([1.7e308, 5e-324], [1.7e308, 0.0])


def test_complex_numbers() -> None:
    assert compare([1 + 2j, 3], [1 + 2j, 3], "complex64")
    assert not compare([1 + 2j, 3], [1 - 2j, 3], "complex64")


class TestNotFinite:
    SAME = ("same", "ignore-nan", "ignore")

    @pytest.mark.parametrize(
        ("ours", "reference", "passes"),
        [
            (np.nan, np.nan, (True, True, True)),
            (np.inf, np.inf, (True, True, True)),
            (np.inf, -np.inf, (False, False, True)),
            (2.0, np.nan, (False, True, True)),
            (np.inf, np.nan, (False, True, True)),
            (2.0, np.inf, (False, False, True)),
            (np.nan, np.inf, (False, False, True)),
            # What is wrong in ours alone is never excused.
            (np.nan, 2.0, (False, False, False)),
            (np.inf, 2.0, (False, False, False)),
        ],
    )
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
    def test_each_policy(
        self, dtype: str, ours: float, reference: float, passes: tuple[bool, ...]
    ) -> None:
        for policy, expected in zip(self.SAME, passes):
            comparison = compare([1, ours], [1, reference], dtype, nonfinite=policy)
            assert bool(comparison) is expected, policy
            assert comparison.judge == (
                "exact" if policy == "same" else f"exact:nonfinite={policy}"
            )

    def test_a_wrong_number_beside_an_excused_one_is_found(self) -> None:
        assert not compare([np.nan, 2.0, 1.0], [1.0, 2.0, 1.0], nonfinite="ignore")
        assert not compare([1.0, 2.0], [np.nan, 3.0], nonfinite="ignore")

    def test_what_is_not_judged_is_said(self) -> None:
        comparison = compare([1.0, 2.0], [np.nan, 2.0], nonfinite="ignore")
        assert comparison.notes == ("1 elements are not judged, where the reference is not finite",)

    def test_an_unknown_policy(self) -> None:
        with pytest.raises(InvalidInput, match="ignore-nan"):
            Exact("none")  # type: ignore[arg-type]
