from __future__ import annotations

from pathlib import Path

import pytest

from forge import InvalidInput
from validation.expectations.editing import rewritten
from validation.expectations.reading import records_of

FILE = Path("expectations.toml")
RECORD = 'case = "{}"\nstage = "load"\n'


def without(text: str, *removed: int) -> str:
    return rewritten(FILE, text, records_of(text, FILE), removed, {}, [])


def test_nothing_to_do_changes_not_a_byte() -> None:
    text = "schema=1\n\n\n[[ failure ]]\ncase='x'"
    assert without(text) == text


@pytest.mark.parametrize("header", ["[[failure]]", "  [[ failure ]]  ", "[[failure]] # why"])
def test_headers_in_other_forms(header: str) -> None:
    text = f"schema = 2\n\n{header}\n{RECORD.format('a')}\n{header}\n{RECORD.format('b')}"
    assert without(text, 0) == f"schema = 2\n\n{header}\n{RECORD.format('b')}"


def test_an_indented_or_parted_comment_is_no_record_s_own() -> None:
    text = f"schema = 2\n# List\n\n[[failure]]\n{RECORD.format('a')}  # of a\n# of none\n"
    assert without(text, 0) == "schema = 2\n# List\n\n  # of a\n# of none\n"


def test_a_table_of_versions_goes_with_its_record() -> None:
    one = f"[[failure]]\n{RECORD.format('a')}[failure.versions]\nonnx = '<2'\n\n"
    two = f"[[failure]]\n{RECORD.format('b')}"
    assert without(f"schema = 2\n\n{one}{two}", 0) == f"schema = 2\n\n{two}"


@pytest.mark.parametrize("text", [
    'schema = 2\n[[failure]]\nwhy = """\n[[failure]]\n"""\n[[failure]]\nwhy = "b"\n',
    'schema = 2\nfailure = [{ why = "a" }, { why = "b" }]\n',
])  # fmt: skip
def test_a_layout_that_would_be_cut_wrong_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be edited"):
        without(text, 0)
