from __future__ import annotations

from types import SimpleNamespace

import pytest

from validation.judges.protocol import Comparison
from validation.report.terminal import print_row, print_table, row_progress
from validation.vocabulary import Reason, Stage, Status

Capture = pytest.CaptureFixture[str]


def test_the_table_ends_with_the_counts_over_the_whole(
    tools: SimpleNamespace, capsys: Capture
) -> None:
    xfail = tools.make_row(
        "torch/a/b",
        Status.XFAIL,
        stage=Stage.RUN,
        reason=Reason.CRASH,
        message="died",
        expectation="why (link)",
    )
    skip = tools.make_row("keras/a/b", Status.SKIP, message="not [bold]here[/bold]")
    print_table([tools.make_row(), xfail, skip])
    text = capsys.readouterr().out
    assert text.splitlines()[-1].startswith(
        "QUALIFIED IN PART, 1 of 3 cells not covered: of 3 cells: passed 1"
    )
    assert "XFAIL torch/a/b: died; expected: why (link)" in text
    assert "SKIP keras/a/b: not [bold]here[/bold]" in text
    assert "run: crash" in text


def test_markup_in_an_id_is_text(tools: SimpleNamespace, capsys: Capture) -> None:
    row = tools.make_row("onnx/file/m[red].onnx")
    print_table([row])
    print_row(row)
    assert capsys.readouterr().out.count("m[red].onnx") == 2


def test_one_row_at_length(tools: SimpleNamespace, capsys: Capture) -> None:
    row = tools.failed_row(
        Stage.COMPARE,
        Reason.WRONG_VALUES,
        message="output z: 1 of 2 elements differ",
        comparisons=(
            Comparison("y", "allclose(rtol=0.1)", max_absolute=0.5, needed_atol=0.25),
            Comparison("z", "shape", Reason.WRONG_SHAPE, "shape (1,)", needed_atol=float("inf")),
        ),
        history=("fold_constants: 3",),
        latency={"native": (0.001,), "forge": (0.002,)},
    )
    print_row(row)
    text = capsys.readouterr().out
    assert "FAIL at compare, wrong-values  onnx/a/b" in text
    assert "output y: same; max abs 0.5, max rel 0, 0 ULP, would pass at atol=0.25 or " in text
    assert "output z, sample 0: shape (1,)\n" in text
    assert "loading: fold_constants: 3" in text
    assert "2.00 times native" in text


def test_last_words_are_shown(tools: SimpleNamespace, capsys: Capture) -> None:
    print_row(tools.failed_row(Stage.RUN, Reason.CRASH, stderr="Segmentation [fault]"))
    assert "Segmentation [fault]" in capsys.readouterr().out


def test_progress_off_a_terminal_is_a_line_a_row(tools: SimpleNamespace, capsys: Capture) -> None:
    with row_progress(2, show=True) as progress:
        progress(tools.make_row())
        progress(tools.failed_row())
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == ["[1/2] PASS  onnx/a/b", "[2/2] FAIL  onnx/a/b"]


def test_progress_can_be_silent(tools: SimpleNamespace, capsys: Capture) -> None:
    with row_progress(1, show=False) as progress:
        progress(tools.make_row())
    assert capsys.readouterr().err == ""
