from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forge import InvalidInput
from validation.expectations import apply_expectations, read_expectations
from validation.expectations.updating import Addition, unlisted, update_expectations
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
        file, rows(onnx_a_one=None, torch_c_three=(Stage.RUN, Reason.CRASH)), IDS
    )
    first, second = TEXT.index("[[failure]]"), TEXT.index("# About the second.")
    assert update.after == new_schema(TEXT[:first] + TEXT[second:])
    assert update.before == TEXT
    assert update.notes == ()


def test_a_record_s_own_comment_goes_with_it_and_no_other(file: Path, rows: Any) -> None:
    update = update_expectations(file, rows(onnx_b_x=None, onnx_b_y=None), IDS)
    first, last = TEXT.index("# About the second."), TEXT.index("# A heading for what follows.")
    assert update.after == new_schema(TEXT[:first] + TEXT[last:])
    assert len(read_expectations([_written(file, update.after)], IDS)) == 2


def test_the_last_record_leaves_no_blank_lines(file: Path, rows: Any) -> None:
    update = update_expectations(file, rows(torch_c_three=None), IDS)
    assert update.after == new_schema(TEXT[: TEXT.index('\n[[failure]]\ncase = "torch')])


def test_all_records_may_go(file: Path, rows: Any) -> None:
    update = update_expectations(
        file, rows(onnx_a_one=None, onnx_b_x=None, onnx_b_y=None, torch_c_three=None), IDS
    )
    assert read_expectations([_written(file, update.after)], IDS) == ()
    assert update.after.startswith("# Known failures.\nschema = 2\n")


def test_another_end_is_written_down(file: Path, rows: Any) -> None:
    found = {"onnx_a_one": (Stage.COMPARE, Reason.WRONG_VALUES), "onnx_b_x": UNSUPPORTED}
    update = update_expectations(file, rows(**found), IDS)
    before = 'stage = "load"\nreason = "frontend-error"'
    after = 'stage = "compare"\nreason = "wrong-values"'
    assert update.after == new_schema(TEXT.replace(before, after))


def test_comments_beside_fields_stay(file: Path, rows: Any) -> None:
    file.write_text(TEXT.replace('stage = "run"\n', 'stage = "run"   # at the first call\n'))
    update = update_expectations(file, rows(torch_c_three=(Stage.COMPILE, Reason.CRASH)), IDS)
    assert 'stage = "compile"   # at the first call\n' in update.after


class TestPatterns:
    @pytest.mark.parametrize(("found", "text"), [
        (
            {"onnx_b_x": None, "onnx_b_y": UNSUPPORTED},
            "onnx/b/x passes, onnx/b/y fails by unsupported-operator at load",
        ),
        (
            {"onnx_b_x": (Stage.RUN, Reason.CRASH), "onnx_b_y": UNSUPPORTED},
            "onnx/b/x fails by crash at run, onnx/b/y fails by unsupported-operator at load",
        ),
    ])  # fmt: skip
    def test_one_whose_cases_differ_is_left_to_a_person(
        self, file: Path, rows: Any, found: dict[str, Any], text: str
    ) -> None:
        update = update_expectations(file, rows(**found), IDS)
        assert update.after == TEXT
        assert update.notes == (f"onnx/b/*: its cases differ: {text}; write one record each",)

    @pytest.mark.parametrize("end", [None, (Stage.RUN, Reason.CRASH)])
    def test_one_of_which_not_all_was_run_is_left(self, file: Path, rows: Any, end: Any) -> None:
        update = update_expectations(file, rows(onnx_b_x=end), IDS)
        assert update.after == TEXT
        (note,) = update.notes
        assert note.endswith("but the results lack onnx/b/y")

    def test_one_of_which_a_part_fails_as_expected_needs_no_note(
        self, file: Path, rows: Any
    ) -> None:
        assert update_expectations(file, rows(onnx_b_x=UNSUPPORTED), IDS).notes == ()

    def test_one_whose_cases_all_fail_otherwise_is_changed(self, file: Path, rows: Any) -> None:
        crash = (Stage.RUN, Reason.CRASH)
        update = update_expectations(file, rows(onnx_b_x=crash, onnx_b_y=crash), IDS)
        assert update.notes == ()
        found = read_expectations([_written(file, update.after)], IDS)[1]
        assert (found.stage, found.reason) == crash


class TestSeveralEnvironments:
    def test_versions_that_disagree_are_told_and_the_record_stays(
        self, file: Path, tools: SimpleNamespace
    ) -> None:
        old = {"onnxruntime": "1.20.0", "numpy": "2.0"}
        passed = tools.make_row("onnx/a/one", versions={**old, "onnxruntime": "1.22.0"})
        ends = {"stage": Stage.LOAD, "reason": Reason.FRONTEND_ERROR}
        failed = tools.make_row("onnx/a/one", Status.FAIL, versions=old, **ends)
        for rows in ([passed, failed], [failed, passed]):
            update = update_expectations(file, rows, IDS)
            assert update.after == TEXT
            (note,) = update.notes
            assert "passes (onnxruntime 1.22.0)" in note
            assert "fails by frontend-error at load (onnxruntime 1.20.0)" in note
            assert "numpy" not in note

    def test_so_are_targets(self, file: Path, tools: SimpleNamespace) -> None:
        ends = {"stage": Stage.LOAD, "reason": Reason.FRONTEND_ERROR}
        failed = tools.make_row("onnx/a/one", Status.FAIL, **ends)
        passed = tools.make_row("onnx/a/one").changed(target="cuda")
        update = update_expectations(file, [failed, passed], IDS)
        assert update.after == TEXT
        assert "passes (target cuda)" in update.notes[0]

    def test_a_record_of_other_versions_stays(self, file: Path, tools: SimpleNamespace) -> None:
        link = 'link = "https://example.org/1"\n'
        text = TEXT.replace(link, link + 'versions = { onnxruntime = "<1.21" }\n')
        file.write_text(text)
        passed = tools.make_row("onnx/a/one", versions={"onnxruntime": "1.22.0"})
        update = update_expectations(file, [passed], IDS)
        assert (update.after, update.notes) == (text, ())

    def test_a_record_whose_versions_pass_goes(self, file: Path, tools: SimpleNamespace) -> None:
        link = 'link = "https://example.org/3"\n'
        file.write_text(TEXT.replace(link, link + '[failure.versions]\ntorch = "<3"\n'))
        passed = tools.make_row("torch/c/three", versions={"torch": "2.13.0+cpu"})
        update = update_expectations(file, [passed], IDS)
        assert "torch" not in update.after


def test_a_failure_that_another_record_accounts_for_changes_nothing(file: Path, rows: Any) -> None:
    text = TEXT + TEXT[TEXT.index('[[failure]]\ncase = "torch') :].replace(
        'stage = "run"\nreason = "crash"', 'stage = "compile"\nreason = "timeout"'
    )
    file.write_text(text)
    for found in ((Stage.RUN, Reason.CRASH), (Stage.COMPILE, Reason.TIMEOUT)):
        update = update_expectations(file, rows(torch_c_three=found), IDS)
        assert (update.after, update.notes) == (text, ())
    update = update_expectations(file, rows(torch_c_three=None), IDS)
    assert "torch" not in update.after


def test_what_was_skipped_says_nothing(file: Path, tools: SimpleNamespace) -> None:
    row = tools.make_row("onnx/a/one", Status.SKIP)
    assert update_expectations(file, [row], IDS).after == TEXT


class TestAdding:
    def test_a_new_failure_needs_a_reason_and_a_link(self, file: Path, rows: Any) -> None:
        new = rows(keras_d_four=(Stage.COMPILE, Reason.TIMEOUT))
        assert update_expectations(file, new, IDS).after == TEXT
        for addition in (Addition(["keras/d/four"], why="w"), Addition(["keras/d/four"], link="l")):
            with pytest.raises(InvalidInput, match="--why and --link"):
                update_expectations(file, new, IDS, addition)
        addition = Addition(["keras/d/four"] * 2, 'it "hangs"', "https://example.org/4")
        update = update_expectations(file, new, IDS, addition)
        assert update.after.startswith(new_schema(TEXT))
        *others, added = read_expectations([_written(file, update.after)], IDS)
        assert len(others) == 3
        assert (added.case, added.stage, added.reason, added.why, added.link, added.target) == (
            "keras/d/four", Stage.COMPILE, Reason.TIMEOUT, 'it "hangs"',
            "https://example.org/4", "llvm",
        )  # fmt: skip

    def test_what_fails_before_it_is_compiled_fails_for_every_target(
        self, file: Path, rows: Any
    ) -> None:
        new = rows(keras_d_four=UNSUPPORTED)
        update = update_expectations(file, new, IDS, Addition(["keras/d/four"], "w", "l"))
        assert read_expectations([_written(file, update.after)], IDS)[-1].target == ""

    def test_a_file_without_a_last_newline(self, file: Path, rows: Any) -> None:
        file.write_text(TEXT.rstrip())
        new = rows(keras_d_four=UNSUPPORTED)
        update = update_expectations(file, new, IDS, Addition(["keras/d/four"], "w", "l"))
        assert len(read_expectations([_written(file, update.after)], IDS)) == 4

    def test_a_new_file(self, tmp_path: Path, tools: SimpleNamespace) -> None:
        row = tools.failed_row(id="keras/d/four")
        addition = Addition(["keras/d/four"], "w", "l")
        update = update_expectations(tmp_path / "new.toml", [row], IDS, addition)
        (added,) = read_expectations([_written(tmp_path / "new.toml", update.after)], IDS)
        assert added.case == "keras/d/four"
        with pytest.raises(InvalidInput, match="cannot be read"):
            update_expectations(tmp_path / "other.toml", [row], IDS)

    @pytest.mark.parametrize(("id", "found", "text"), [
        ("keras/d/four", None, "did not fail"),
        ("onnx/b/x", (Stage.RUN, Reason.CRASH), "on the list already"),
        ("onnx/b/x", UNSUPPORTED, "on the list already"),
    ])  # fmt: skip
    def test_what_cannot_be_added(
        self, file: Path, rows: Any, id: str, found: Any, text: str
    ) -> None:
        made = rows(**{id.replace("/", "_"): found})
        with pytest.raises(InvalidInput, match=text):
            update_expectations(file, made, IDS, Addition([id], "w", "l"))

    def test_what_fails_in_some_versions_only(self, file: Path, tools: SimpleNamespace) -> None:
        rows = [
            tools.failed_row(id="keras/d/four", versions={"keras": "3.14"}),
            tools.make_row("keras/d/four", versions={"keras": "3.15"}),
        ]
        with pytest.raises(InvalidInput, match=r"\(keras 3\.14\) and passes \(keras 3\.15\)"):
            update_expectations(file, rows, IDS, Addition(["keras/d/four"], "w", "l"))


def test_failures_that_are_on_no_list(file: Path, rows: Any) -> None:
    found = rows(onnx_b_x=(Stage.RUN, Reason.CRASH), keras_d_four=UNSUPPORTED, onnx_a_one=None)
    assert [row.id for row in unlisted(found, read_expectations([file], IDS))] == ["keras/d/four"]


def test_a_malformed_file_is_not_edited(file: Path, rows: Any) -> None:
    found = rows(onnx_a_one=None)
    file.write_text(TEXT.replace('"frontend-error"', '"frontend"'))
    with pytest.raises(InvalidInput, match="failure 1 is not well formed"):
        update_expectations(file, found, IDS)


def new_schema(text: str) -> str:
    return text.replace("schema = 1", "schema = 2")


def _written(file: Path, text: str) -> Path:
    file.write_text(text)
    return file
