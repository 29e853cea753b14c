from __future__ import annotations

from types import SimpleNamespace

import pytest

from validation.expectations import Expectation
from validation.vocabulary import Reason, Stage


@pytest.mark.parametrize(("versions", "applies"), [
    ({}, True),
    ({"onnxruntime": ">=1.20,<1.23"}, True),
    ({"onnxruntime": ">=1.23"}, False),
    ({"onnxruntime": "<2", "onnx": "==1.17.*"}, True),
    ({"onnxruntime": "<2", "onnx": "!=1.17.0"}, False),
    ({"torch": ">=1"}, False),
    ({"python": "<3.12"}, True),
    ({"apache-tvm": "<=0.28"}, True),
    ({"tflite": ">=1"}, False),
    ({"ONNXRuntime": "<2"}, True),
    ({"platform": "*-x86_64-*"}, True),
    ({"platform": "*-aarch64-*"}, False),
    ({"torch": "<2.14"}, False),
    ({"numpy": "<2"}, False),
])  # fmt: skip
def test_all_versions_must_be_within_range(
    tools: SimpleNamespace, versions: dict[str, str], applies: bool
) -> None:
    row = tools.failed_row(
        versions={
            "onnxruntime": "1.22.1", "onnx": "1.17.0", "python": "3.11.7",
            "apache-tvm": "0.28.dev3", "tflite": "unknown",
            "platform": "Linux-6.8-x86_64-with-glibc2.39", "numpy": "2.0.0rc1",
        }
    )  # fmt: skip
    expectation = Expectation(
        "onnx/*", Stage.LOAD, Reason.FRONTEND_ERROR, "why", "link", versions=versions
    )
    assert expectation.applies_to(row) is applies


@pytest.mark.parametrize(("wanted", "applies"), [
    ("==2.13", True), ("<2.13", False), ("<2.14", True), ("==2.13.0+cpu", True), ("~=2.12", True),
])  # fmt: skip
def test_local_versions_count_as_their_release(
    tools: SimpleNamespace, wanted: str, applies: bool
) -> None:
    row = tools.failed_row(versions={"torch": "2.13.0+cpu"})
    known = Expectation(
        "*", Stage.LOAD, Reason.FRONTEND_ERROR, "w", "l", versions={"torch": wanted}
    )
    assert known.applies_to(row) is applies
