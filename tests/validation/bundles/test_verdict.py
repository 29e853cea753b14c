from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from validation.bundles.verdict import verdict_from_json, verdict_of
from validation.vocabulary import Blame, Reason, Stage


def test_it_comes_back(tools: SimpleNamespace) -> None:
    for row in (tools.make_row(), tools.failed_row(blame=Blame.FOLD)):
        verdict = verdict_of(row)
        assert verdict_from_json(verdict.to_json()) == verdict


def test_it_is_a_line(tools: SimpleNamespace) -> None:
    row = tools.failed_row(Stage.COMPARE, Reason.WRONG_VALUES, blame=Blame.LOADER)
    assert str(verdict_of(row)) == "FAIL at compare, wrong-values, blame loader"
    assert str(verdict_of(tools.make_row())) == "PASS"


def test_changes_name_each_word(tools: SimpleNamespace) -> None:
    old = verdict_of(tools.failed_row(blame=Blame.LOADER))
    assert old.changes(old) == []
    assert old.changes(verdict_of(tools.failed_row(blame=Blame.FOLD))) == [
        "blame was loader, now it is fold"
    ]
    assert old.changes(verdict_of(tools.make_row())) == [
        "status was FAIL, now it is PASS",
        "stage was load, now it is none",
        "reason was frontend-error, now it is none",
        "blame was loader, now it is none",
    ]


@pytest.mark.parametrize("record", [
    None,
    [],
    {},
    {"status": "FAIL"},
    {"status": "MAYBE", "stage": None, "reason": None, "blame": None},
    {"status": "FAIL", "stage": [], "reason": None, "blame": None},
    {"status": "FAIL", "stage": "somewhere", "reason": None, "blame": None},
])  # fmt: skip
def test_what_is_none_is_refused(record: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - every message is another
        verdict_from_json(record)
