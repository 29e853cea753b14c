from __future__ import annotations

from types import SimpleNamespace

from validation.judges.protocol import Comparison
from validation.report.row_text import row_lines
from validation.vocabulary import Blame, Reason, Stage


def test_a_difference_is_told_with_all_figures(tools: SimpleNamespace) -> None:
    wrong = Comparison(
        "y",
        "allclose(rtol=0.1)",
        Reason.WRONG_VALUES,
        "1 of 4 elements differ",
        max_absolute=0.5,
        mean_absolute=0.125,
        max_relative=1.0,
        max_ulp=4e6,
        needed_atol=0.25,
        needed_rtol=0.75,
        worst_index=(1, 2),
        worst_ours=1.0,
        worst_reference=0.5,
        nan=(1, 1),
        histogram=(2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1),
        sample=2,
        notes=("against float64: ours 0.5",),
    )
    row = tools.failed_row(
        Stage.COMPARE,
        Reason.WRONG_VALUES,
        blame=Blame.FOLD,
        evidence=("folded IR against the IR before folding: DIFFERENT",),
        notes=("input b changes no output",),
        bundle="bundles/x",
        comparisons=(Comparison("y", "allclose(rtol=0.1)"), wrong),
    )
    lines = row_lines(row)
    assert "blame: fold" in lines
    assert "evidence: folded IR against the IR before folding: DIFFERENT" in lines
    assert (
        "output y, sample 2: 1 of 4 elements differ; max abs 0.5, max rel 1, 4e+06 ULP, would "
        "pass at atol=0.25 or rtol=0.75; allclose(rtol=0.1)"
    ) in lines
    assert (
        "  mean abs 0.125, mean rel 0; worst at [1, 2]: 1, reference 0.5; NaN 1 and 1, "
        "infinite 0 and 0"
    ) in lines
    assert "  elements by error over the reference's size: equal 2, <1 1, not finite 1" in lines
    assert "  against float64: ours 0.5" in lines
    assert "note: input b changes no output" in lines
    assert "bundle: bundles/x (forge replay bundles/x)" in lines


def test_of_many_samples_that_agree_the_worst_is_told(tools: SimpleNamespace) -> None:
    row = tools.make_row(
        comparisons=tuple(
            Comparison("y", "exact", max_absolute=size, needed_atol=size, sample=n)
            for n, size in enumerate((0.1, 0.3, 0.2))
        )
    )
    (line,) = row_lines(row)
    assert line.startswith("output y, the worst of 3 samples: same; max abs 0.3")


def test_the_worker_s_words_are_told_where_nothing_was_compared(tools: SimpleNamespace) -> None:
    row = tools.failed_row(Stage.RUN, Reason.CRASH, message="died", stderr="last words")
    assert row_lines(row) == ["died", "the worker's last words:\nlast words"]
