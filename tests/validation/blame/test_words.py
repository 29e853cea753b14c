from __future__ import annotations

from validation.blame.words import difference, is_same
from validation.judges.protocol import Comparison
from validation.vocabulary import Reason

SAME = Comparison("y", "allclose", max_absolute=0.25)
WRONG = Comparison(
    "z", "allclose", Reason.WRONG_VALUES, "1 of 2 elements differ", 3.0, histogram=(1,) * 12
)
SHAPE = Comparison("z", "shape", Reason.WRONG_SHAPE, "shape (1,), the reference's is (2,)")


def test_what_passes_is_the_same() -> None:
    assert is_same([SAME])
    assert difference([SAME, Comparison("x", "exact")]) == "same, max abs 0.25"
    assert difference([]) == "same, max abs 0"


def test_the_first_difference_is_named() -> None:
    assert not is_same([SAME, WRONG])
    assert difference([SAME, WRONG]) == ("DIFFERENT, output z: 1 of 2 elements differ, max abs 3")


def test_what_cannot_be_subtracted_has_no_figures() -> None:
    assert difference([SHAPE]) == "DIFFERENT, output z: shape (1,), the reference's is (2,)"
