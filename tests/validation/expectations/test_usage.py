from __future__ import annotations

from types import SimpleNamespace

import pytest

from validation.expectations import Expectation, apply_expectations
from validation.expectations.usage import unused
from validation.vocabulary import Reason, Stage, Status

KNOWN = Expectation(
    "onnx/a/*", Stage.LOAD, Reason.FRONTEND_ERROR, "why", "link", versions={"onnx": "<2"}
)
VERSIONS = {"onnx": "1.17.0"}


@pytest.mark.parametrize(("fields", "text"), [
    ({"id": "onnx/b/b"}, "the results have no such row"),
    ({"versions": {"onnx": "2.0"}}, "onnx/a/b does not count: onnx is 2.0"),
    ({"versions": {}}, "onnx/a/b does not count: onnx is not there"),
    ({"stage": Stage.RUN}, "onnx/a/b fails by frontend-error at run"),
])  # fmt: skip
def test_what_was_found_instead(
    tools: SimpleNamespace, fields: dict[str, object], text: str
) -> None:
    row = tools.failed_row(**{"versions": VERSIONS, **fields})
    assert unused([KNOWN], [row]) == [f"onnx/a/* (frontend-error at load): {text}"]


def test_passing_and_skipped(tools: SimpleNamespace) -> None:
    rows = [
        apply_expectations(tools.make_row("onnx/a/b", versions=VERSIONS), [KNOWN]),
        tools.make_row("onnx/a/c", Status.SKIP, versions=VERSIONS),
    ]
    assert rows[0].status is Status.XPASS
    (line,) = unused([KNOWN], rows)
    assert line.endswith("onnx/a/b passes; onnx/a/c was skipped")


def test_one_row_that_fails_so_is_enough(tools: SimpleNamespace) -> None:
    failed = apply_expectations(tools.failed_row(versions=VERSIONS), [KNOWN])
    assert failed.status is Status.XFAIL
    assert unused([KNOWN], [failed, tools.make_row("onnx/a/c", versions=VERSIONS)]) == []
