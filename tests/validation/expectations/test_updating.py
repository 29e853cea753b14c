from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forge import InvalidInput
from validation.expectations import apply_expectations, read_expectations
from validation.expectations.updating import update_expectations
from validation.vocabulary import Reason, Stage, Status

TEXT = """# Known failures.
schema = 1

[[failure]]
case = "onnx/a/one"  # the first
stage = "load"
reason = "frontend-error"
why = "it has no one"
link = "https://example.org/1"

# About the second.
[[failure]]
case = "onnx/b/*"
stage = "load"
reason = "unsupported-operator"
why = "it has no b"
link = "https://example.org/2"

# A heading for what follows.

[[failure]]
case = "torch/c/three"
stage = "run"
reason = "crash"
why = "it crashes"
link = "https://example.org/3"
"""
IDS = ["onnx/a/one", "onnx/b/x", "onnx/b/y", "torch/c/three", "keras/d/four"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "expectations.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def rows(tools: SimpleNamespace, file: Path) -> Any:
    """Make rows as a run writes them, from what was found for each id."""

    def make(**found: tuple[Stage, Reason] | None) -> list[Any]:
        made = []
        for name, ends in found.items():
            id = name.replace("_", "/")
            fields = {} if ends is None else {"stage": ends[0], "reason": ends[1]}
            status = Status.PASS if ends is None else Status.FAIL
            row = tools.make_row(id, status, **fields)
            made.append(apply_expectations(row, read_expectations([file], IDS)))
        return made

    return make


UNSUPPORTED = (Stage.LOAD, Reason.UNSUPPORTED_OPERATOR)


def test_what_passes_is_removed_and_the_rest_stays_as_it_is(file: Path, rows: Any) -> None:
    update = update_expectations(
        file, rows(onnx_a_one=None, torch_c_three=(Stage.RUN, Reason.CRASH))
    )
    first, second = TEXT.index("[[failure]]"), TEXT.index("# About the second.")
    assert update.after == TEXT[:first] + TEXT[second:]
    assert update.before == TEXT
    assert update.notes == ()


def test_a_record_s_own_comment_goes_with_it_and_no_other(file: Path, rows: Any) -> None:
    update = update_expectations(file, rows(onnx_b_x=None, onnx_b_y=None))
    assert "About the second" not in update.after
    assert "# A heading for what follows." not in update.after or "torch/c/three" in update.after
    assert 'case = "onnx/a/one"  # the first' in update.after
    assert len(read_expectations([_written(file, update.after)], IDS)) == 2


def test_another_end_is_written_down(file: Path, rows: Any) -> None:
    update = update_expectations(
        file, rows(onnx_a_one=(Stage.COMPARE, Reason.WRONG_VALUES), onnx_b_x=UNSUPPORTED)
    )
    changed = TEXT.replace(
        'stage = "load"\nreason = "frontend-error"', 'stage = "compare"\nreason = "wrong-values"'
    ).replace("schema = 1", "schema = 2")
    assert update.after == changed


@pytest.mark.parametrize(("found", "text"), [
    ({"onnx_b_x": None, "onnx_b_y": UNSUPPORTED}, "onnx/b/x passes now and others still fail"),
    (
        {"onnx_b_x": (Stage.RUN, Reason.CRASH), "onnx_b_y": UNSUPPORTED},
        "fail in several ways (crash at run, unsupported-operator at load)",
    ),
])  # fmt: skip
def test_a_pattern_whose_cases_differ_is_left_to_a_person(
    file: Path, rows: Any, found: dict[str, Any], text: str
) -> None:
    update = update_expectations(file, rows(**found))
    assert update.after == TEXT
    (note,) = update.notes
    assert text in note


def test_what_was_skipped_says_nothing(file: Path, tools: SimpleNamespace) -> None:
    row = tools.make_row("onnx/a/one", Status.SKIP)
    assert update_expectations(file, [row]).after == TEXT


def test_a_new_failure_needs_a_reason_and_a_link(file: Path, rows: Any) -> None:
    new = rows(keras_d_four=(Stage.COMPILE, Reason.TIMEOUT))
    assert update_expectations(file, new).after == TEXT
    with pytest.raises(InvalidInput, match="--why and --link"):
        update_expectations(file, new, new, why="slow")
    update = update_expectations(file, new, new, why='it "hangs"', link="https://example.org/4")
    assert update.after.startswith(TEXT.replace("schema = 1", "schema = 2"))
    added = read_expectations([_written(file, update.after)], IDS)[-1]
    assert (added.case, added.stage, added.reason, added.why) == (
        "keras/d/four", Stage.COMPILE, Reason.TIMEOUT, 'it "hangs"',
    )  # fmt: skip


def test_only_a_failure_can_be_added(file: Path, rows: Any) -> None:
    passed = rows(keras_d_four=None)
    with pytest.raises(InvalidInput, match="did not fail"):
        update_expectations(file, passed, passed, why="w", link="l")


def test_a_layout_that_cannot_be_edited_by_line_is_left(file: Path, rows: Any) -> None:
    file.write_text(
        TEXT.replace('[[failure]]\ncase = "onnx/a/one"', '[[ failure ]]\ncase = "onnx/a/one"')
    )
    with pytest.raises(InvalidInput, match="cannot be edited"):
        update_expectations(file, rows(onnx_a_one=None))


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file
