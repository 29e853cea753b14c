from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from forge import InvalidInput
from validation.expectations import Expectation, apply_expectations, read_expectations
from validation.vocabulary import Reason, Stage, Status

IDS = ["onnx/resnet/18", "onnx/resnet/50", "torch/mlp/small"]
RECORD = {
    "case": "onnx/resnet/18",
    "stage": "compile",
    "reason": "compile-error",
    "why": "Resize has no cubic mode",
    "link": "https://example.org/1",
}


def write(folder: Path, *records: dict[str, object], head: str = "schema = 1\n") -> Path:
    file = folder / "expectations.toml"
    blocks = [
        "[[failure]]\n"
        + "".join(
            f"{key} = {value if isinstance(value, int) else repr(value)}\n"
            for key, value in record.items()
        )
        for record in records
    ]
    file.write_text(head + "\n".join(blocks))
    return file


def expected(case: str = "onnx/a/b", target: str = "", **fields: object) -> Expectation:
    stage = fields.get("stage", Stage.LOAD)
    reason = fields.get("reason", Reason.FRONTEND_ERROR)
    return Expectation(case, stage, reason, "why", "link", target)  # type: ignore[arg-type]


class TestReading:
    def test_a_good_file(self, tmp_path: Path) -> None:
        file = write(tmp_path, RECORD, {**RECORD, "case": "torch/*", "target": "cuda"})
        first, second = read_expectations([file], IDS)
        assert first == Expectation(
            "onnx/resnet/18", Stage.COMPILE, Reason.COMPILE_ERROR, RECORD["why"], RECORD["link"]
        )
        assert (second.case, second.target) == ("torch/*", "cuda")

    def test_a_file_without_failures(self, tmp_path: Path) -> None:
        assert read_expectations([write(tmp_path)], IDS) == ()

    def test_an_unknown_id_gets_the_nearest_as_a_hint(self, tmp_path: Path) -> None:
        file = write(tmp_path, {**RECORD, "case": "onnx/resnet/19"})
        with pytest.raises(InvalidInput) as caught:
            read_expectations([file], IDS)
        assert "'onnx/resnet/19'" in caught.value.message
        assert "failure 1" in caught.value.message
        assert "onnx/resnet/18" in str(caught.value.hint)

    @pytest.mark.parametrize(("field", "word"), [("reason", "broken"), ("stage", "compiling")])
    def test_a_word_outside_the_vocabulary(self, tmp_path: Path, field: str, word: str) -> None:
        with pytest.raises(InvalidInput, match=word) as caught:
            read_expectations([write(tmp_path, {**RECORD, field: word})], IDS)
        assert "compile-error" in str(caught.value.hint)

    @pytest.mark.parametrize("field", ["link", "why", "case", "stage", "reason"])
    def test_a_missing_or_empty_field(self, tmp_path: Path, field: str) -> None:
        without = {key: value for key, value in RECORD.items() if key != field}
        for record in (without, {**RECORD, field: ""}):
            with pytest.raises(InvalidInput, match=rf"missing fields \['{field}'\]"):
                read_expectations([write(tmp_path, record)], IDS)

    def test_an_unknown_field(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="'becuase'"):
            read_expectations([write(tmp_path, {**RECORD, "becuase": "x"})], IDS)

    def test_a_field_that_is_no_text(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="case"):
            read_expectations([write(tmp_path, {**RECORD, "case": 3})], IDS)

    @pytest.mark.parametrize("text", [
        "", "schema = 2", "schema = 1\n[failure]\ncase = 'x'", "schema = 1\nfailure = [1]",
        "schema = 1\n[[failures]]\ncase = 'x'", "schema = ", "schema = 1\nfailure = 'no'",
    ])  # fmt: skip
    def test_a_malformed_file(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "expectations.toml"
        file.write_text(text)
        with pytest.raises(InvalidInput, match=r"expectations\.toml"):
            read_expectations([file], IDS)

    def test_a_missing_or_binary_file(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_expectations([tmp_path / "none.toml"], IDS)
        (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_expectations([tmp_path / "binary.toml"], IDS)


class TestApplying:
    def test_the_expected_failure(self, tools: SimpleNamespace) -> None:
        row = apply_expectations(tools.failed_row(message="boom"), [expected()])
        assert (row.status, row.expectation, row.message) == (Status.XFAIL, "why (link)", "boom")
        assert row.reason is Reason.FRONTEND_ERROR

    def test_a_pass_is_unexpected(self, tools: SimpleNamespace) -> None:
        row = apply_expectations(tools.make_row(), [expected()])
        assert row.status is Status.XPASS
        assert not row
        assert "link" in row.message

    @pytest.mark.parametrize(("stage", "reason"), [
        (Stage.COMPILE, Reason.FRONTEND_ERROR),
        (Stage.LOAD, Reason.CRASH),
        (Stage.COMPARE, Reason.WRONG_VALUES),
    ])  # fmt: skip
    def test_another_failure_stays_one(
        self, tools: SimpleNamespace, stage: Stage, reason: Reason
    ) -> None:
        row = apply_expectations(tools.failed_row(stage, reason, message="m"), [expected()])
        assert row.status is Status.FAIL
        assert row.message == "m (expected frontend-error at load)"

    def test_a_skip_stays_one(self, tools: SimpleNamespace) -> None:
        row = tools.make_row(status=Status.SKIP, stage=Stage.LOAD, reason=Reason.FRONTEND_ERROR)
        assert apply_expectations(row, [expected()]) == row

    def test_another_case_or_target(self, tools: SimpleNamespace) -> None:
        row = tools.failed_row()
        assert apply_expectations(row, [expected("onnx/a/c"), expected(target="cuda")]) == row

    def test_patterns_and_targets(self, tools: SimpleNamespace) -> None:
        row = tools.failed_row()
        assert apply_expectations(row, [expected("onnx/*", "llvm")]).status is Status.XFAIL
        assert apply_expectations(row, [expected("ONNX/*")]).status is Status.FAIL

    def test_any_of_several_expectations_may_fit(self, tools: SimpleNamespace) -> None:
        several = [expected(stage=Stage.RUN, reason=Reason.CRASH), expected("onnx/*")]
        assert apply_expectations(tools.failed_row(), several).status is Status.XFAIL
        row = apply_expectations(tools.failed_row(Stage.FOLD), several)
        assert "crash at run or frontend-error at load" in row.message
