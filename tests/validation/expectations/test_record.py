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
])  # fmt: skip
def test_all_versions_must_be_within_range(
    tools: SimpleNamespace, versions: dict[str, str], applies: bool
) -> None:
    row = tools.failed_row(
        versions={
            "onnxruntime": "1.22.1", "onnx": "1.17.0", "python": "3.11.7",
            "apache-tvm": "0.28.dev3", "tflite": "unknown",
        }
    )  # fmt: skip
    expectation = Expectation(
        "onnx/*", Stage.LOAD, Reason.FRONTEND_ERROR, "why", "link", versions=versions
    )
    assert expectation.applies_to(row) is applies
