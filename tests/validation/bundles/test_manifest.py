from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forge import InvalidInput
from validation.bundles.manifest import is_complete, read_manifest

Change = Callable[[dict[str, Any]], object]


def test_it_comes_back(bundle: Path) -> None:
    manifest = read_manifest(bundle)
    text = (bundle / "bundle.json").read_text()
    assert manifest.to_json() == text
    assert manifest.case["id"] == "onnx/a/b"
    assert manifest.complete
    assert is_complete(bundle)


BAD: dict[str, Change] = {
    "a case without its id": lambda r: r["case"].pop("id"),
    "threads that are a text": lambda r: r["case"].update(threads="1"),
    "threads that are a truth": lambda r: r["case"].update(threads=True),
    "negative threads": lambda r: r["case"].update(threads=-1),
    "a tolerance that is no number": lambda r: r["case"].update(rtol={"$float": "nan"}),
    "judges that are no texts": lambda r: r["case"].update(judges={"y": 3}),
    "ranges that are no pairs": lambda r: r["case"].update(ranges={"x": 3}),
    "an unknown status": lambda r: r["expected"].update(status="MAYBE"),
    "no verdict": lambda r: r.pop("expected"),
    "a model of another kind": lambda r: r.update(model="pickle"),
    "options that are a list": lambda r: r.update(options=[1]),
    "an unknown kind of value": lambda r: r.update(options={"a": {"$code": "1"}}),
    "samples that are none": lambda r: r.update(inputs=[3]),
    "an array without a name": lambda r: r["inputs"][0][0].pop("name"),
    "a shape that is a text": lambda r: r["inputs"][0][0].update(shape="3"),
    "a file outside": lambda r: r["files"].update({"../x": {"size": 1, "sha256": "0" * 64}}),
    "an absolute file": lambda r: r["files"].update({"/x": {"size": 1, "sha256": "0" * 64}}),
    "a file that hides": lambda r: r["files"].update({"a/./b": {"size": 1, "sha256": "0" * 64}}),
    "a hash that is none": lambda r: r["files"].update(x={"size": 1, "sha256": "0"}),
    "a negative size": lambda r: r["files"].update(x={"size": -1, "sha256": "0" * 64}),
    "an origin that is none": lambda r: r.update(origin={"kind": "web", "name": "x"}),
    "a schema that is a text": lambda r: r.update(schema="1"),
    "another format": lambda r: r.update(format="tar"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BAD)
def test_a_damaged_one_is_one_error(kind: str, bundle: Path, bundling: SimpleNamespace) -> None:
    bundling.edit_manifest(bundle, BAD[kind])
    with pytest.raises(InvalidInput, match=r"bundle\.json"):
        read_manifest(bundle)


def test_depth_is_no_crash(bundle: Path) -> None:
    text = (bundle / "bundle.json").read_text()
    nested = '{"$tuple": [' * 20_000 + "1" + "]}" * 20_000
    (bundle / "bundle.json").write_text(text.replace('"target": "llvm"', f'"target": {nested}'))
    with pytest.raises(InvalidInput, match="RecursionError"):
        read_manifest(bundle)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"[]", b"null", b"1" * 5000])
def test_what_is_no_manifest(content: bytes, bundle: Path) -> None:
    (bundle / "bundle.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"bundle\.json"):
        read_manifest(bundle)


def test_a_newer_schema(bundle: Path, bundling: SimpleNamespace) -> None:
    bundling.edit_manifest(bundle, lambda record: record.update(schema=99, case="something new"))
    with pytest.raises(InvalidInput, match="schema 99; this Forge reads up to 1"):
        read_manifest(bundle)
    assert is_complete(bundle)


def test_a_link_or_a_device_is_none(bundle: Path, tmp_path: Path) -> None:
    (bundle / "bundle.json").rename(tmp_path / "other.json")
    (bundle / "bundle.json").symlink_to(tmp_path / "other.json")
    with pytest.raises(InvalidInput, match="no bundle"):
        read_manifest(bundle)
    (bundle / "bundle.json").unlink()
    (bundle / "bundle.json").symlink_to("/dev/zero")
    with pytest.raises(InvalidInput, match="no bundle"):
        read_manifest(bundle)


def test_a_huge_one_is_not_read(bundle: Path) -> None:
    with open(bundle / "bundle.json", "r+b") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(InvalidInput, match="too large"):
        read_manifest(bundle)


def test_every_field_of_a_case_is_kept(bundle: Path) -> None:
    from dataclasses import fields

    from validation.case import Case
    from validation.inputs.plan import InputPlan

    kept = set(read_manifest(bundle).case)
    not_data = {"build", "reference_outputs", "plan", "function"}
    expected = {f.name for record in (Case, InputPlan) for f in fields(record)} - not_data
    assert kept == expected | {"given"}


def test_numbers_that_json_cannot_hold(bundle: Path) -> None:
    record = json.loads((bundle / "bundle.json").read_text())
    record["case"]["time_limit"] = {"$float": "inf"}
    (bundle / "bundle.json").write_text(json.dumps(record))
    assert read_manifest(bundle).case["time_limit"] == float("inf")
