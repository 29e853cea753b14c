from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from forge import InvalidInput
from validation.expectations import Expectation, read_expectations
from validation.vocabulary import Reason, Stage

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
        assert "did you mean onnx/resnet/18" in caught.value.message

    @pytest.mark.parametrize(("field", "word"), [("reason", "broken"), ("stage", "compiling")])
    def test_a_word_outside_the_vocabulary(self, tmp_path: Path, field: str, word: str) -> None:
        with pytest.raises(InvalidInput, match=word) as caught:
            read_expectations([write(tmp_path, {**RECORD, field: word})], IDS)
        assert f"is no {field}; " in caught.value.message

    @pytest.mark.parametrize("field", ["link", "why", "case", "stage", "reason"])
    def test_a_missing_or_empty_field(self, tmp_path: Path, field: str) -> None:
        without = {key: value for key, value in RECORD.items() if key != field}
        for record in (without, {**RECORD, field: ""}):
            with pytest.raises(InvalidInput, match=f"missing field '{field}'"):
                read_expectations([write(tmp_path, record)], IDS)

    def test_an_unknown_field(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="unknown field 'becuase'"):
            read_expectations([write(tmp_path, {**RECORD, "becuase": "x"})], IDS)

    def test_a_field_that_is_no_text(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="case"):
            read_expectations([write(tmp_path, {**RECORD, "case": 3})], IDS)

    @pytest.mark.parametrize("text", [
        "", "schema = 3", "schema = true", "schema = 1\n[failure]\ncase = 'x'",
        "schema = 1\nfailure = [1]",
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

    def test_versions(self, tmp_path: Path) -> None:
        file = write(tmp_path, RECORD, head="schema = 2\n")
        file.write_text(file.read_text() + 'versions = { onnxruntime = ">=1.20,<1.23" }\n')
        (found,) = read_expectations([file], IDS)
        assert found.versions == {"onnxruntime": ">=1.20,<1.23"}

    @pytest.mark.parametrize(("versions", "text"), [
        ('{ onnxruntim = ">=1" }', "did you mean onnxruntime"),
        ('{ onnx = "about 1" }', "'about 1' is no range of versions"),
        ("{ onnx = 1 }", "1 is no range of versions"),
        ('{ torch = ">=2" }', "no such row tells the version of 'torch'"),
        ("{ platform = 1 }", "1 is no range of versions"),
        ('">=1"', "expected a table"),
    ])  # fmt: skip
    def test_versions_that_no_row_can_have(self, tmp_path: Path, versions: str, text: str) -> None:
        file = write(tmp_path, RECORD)
        file.write_text(file.read_text() + f"versions = {versions}\n")
        with pytest.raises(InvalidInput, match=text):
            read_expectations([file], IDS)

    def test_python_and_the_platform(self, tmp_path: Path) -> None:
        file = write(tmp_path, RECORD)
        versions = '{ python = "<3.12", platform = "*-aarch64-*", Apache_TVM = "<1" }'
        file.write_text(file.read_text() + f"versions = {versions}\n")
        assert read_expectations([file], IDS)[0].versions["platform"] == "*-aarch64-*"

    def test_a_record_that_stands_there_twice(self, tmp_path: Path) -> None:
        file = write(tmp_path, RECORD, {**RECORD, "case": "torch/*"}, RECORD)
        with pytest.raises(InvalidInput, match="failure 3: the same stands in failure 1"):
            read_expectations([file], IDS)

    def test_all_faults_are_told_at_once(self, tmp_path: Path) -> None:
        bad = {**RECORD, "case": "onnx/resnet/19", "stage": "compiling", "link": ""}
        file = write(tmp_path, bad, RECORD, {**RECORD, "reason": "broken"})
        with pytest.raises(InvalidInput) as caught:
            read_expectations([file, tmp_path / "none.toml"], IDS)
        message = caught.value.message
        for part in (
            "failure 1: missing field 'link'", "failure 1: no entry matches 'onnx/resnet/19'",
            "failure 1: 'compiling' is no stage", "failure 3: 'broken' is no reason", "none.toml",
        ):  # fmt: skip
            assert part in message
        assert "failure 2" not in message


def test_no_framework_is_imported(tmp_path: Path) -> None:
    (tmp_path / "list.toml").write_text("schema = 2\n[[failure]]\ncase = 'onnx/*'\nstage = 'lod'\n")
    frameworks = {"tvm", "onnx", "onnxruntime", "torch", "tensorflow", "keras", "tflite"}
    code = (
        "import sys; from validation.cli import main\n"
        "codes = main(['expectations', 'check']), main(['expectations', 'check', 'list.toml'])\n"
        f"print(list(map(int, codes)), sorted({frameworks!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "[0, 2] []", done.stderr
    for problem in ("missing field 'reason'", "missing field 'link'", "did you mean load"):
        assert problem in done.stderr
