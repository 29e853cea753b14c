"""Entries and sources refuse malformed fields."""

from __future__ import annotations

from typing import Any

import pytest

from model_zoo import Entry, Sample, Source, UnavailableError

HASH = "0" * 64


def build() -> Sample:
    return Sample(None, {})


def source(**fields: Any) -> Source:
    known = {
        "package": "some-package",
        "version": "1.0.2",
        "file": "some/model.bin",
        "sha256": HASH,
        "member_sha256": HASH,
        "licence": "MIT",
    }
    return Source(**{**known, **fields})


def test_the_framework_is_the_first_part_of_the_id() -> None:
    entry = Entry("torch/residual-net/v1.5_traced", build, "a network")
    assert entry.framework == "torch"
    assert entry.suites == {"smoke", "full"}


@pytest.mark.parametrize(
    "id",
    [
        "torch/residual",
        "torch/residual/a/b",
        "caffe/residual/a",
        "torch/Residual/a",
        "torch//a",
        "torch/../a",
        "torch/residual/a\n",
        " torch/residual/a",
        "",
    ],
)
def test_an_id_that_is_not_three_lower_case_parts_is_refused(id: str) -> None:
    with pytest.raises(ValueError, match="<framework>/<family>/<variant>"):
        Entry(id, build, "a network")


@pytest.mark.parametrize("suites", [frozenset(), frozenset({"nightly"})])
def test_an_unknown_suite_is_refused(suites: frozenset[str]) -> None:
    with pytest.raises(ValueError, match="suites"):
        Entry("onnx/a/b", build, "a network", suites)


@pytest.mark.parametrize("what", ["rtol", "atol", "time_limit"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_a_tolerance_below_zero_is_refused(what: str, value: float) -> None:
    with pytest.raises(ValueError, match=what):
        Entry("onnx/a/b", build, "a network", **{what: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "file", ["../model.bin", "a/../../model.bin", "/etc/passwd", "a\\..\\model.bin", ""]
)
def test_a_source_file_outside_its_archive_is_refused(file: str) -> None:
    with pytest.raises(ValueError, match="plain relative path"):
        source(file=file)


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("sha256", "0" * 63),
        ("sha256", "A" * 64),
        ("member_sha256", ""),
        ("package", "--index-url"),
        ("package", "some package"),
        ("version", ""),
        ("version", "1.0 --pre"),
    ],
)
def test_a_malformed_source_is_refused(what: str, value: str) -> None:
    with pytest.raises(ValueError, match=what):
        source(**{what: value})


def test_unavailable_carries_the_reason_to_skip() -> None:
    assert UnavailableError("no network").skip_reason == "no network"
