from __future__ import annotations

import re
from pathlib import Path

import pytest

from validation.bundles.layout import bundle_name

VERSIONS = {"onnx": "1.20", "numpy": "2.4"}


def test_a_name_says_which_cell_it_is_of() -> None:
    name = bundle_name("onnx/resnet/18", "llvm", VERSIONS)
    assert re.fullmatch(r"onnx--resnet--18-[0-9a-f]{10}", name)


def test_case_target_and_versions_tell_bundles_apart() -> None:
    names = {
        bundle_name("onnx/a/b", "llvm", VERSIONS),
        bundle_name("onnx/a/c", "llvm", VERSIONS),
        bundle_name("onnx/a/b", "cuda", VERSIONS),
        bundle_name("onnx/a/b", "llvm", {**VERSIONS, "onnx": "1.21"}),
        bundle_name("onnx/a--b", "llvm", VERSIONS),
    }
    assert len(names) == 5
    again = dict(reversed(VERSIONS.items()))
    assert bundle_name("onnx/a/b", "llvm", again) in names


@pytest.mark.parametrize("id", [
    "..", "../../etc/passwd", "/etc/passwd", ".hidden", "-rf", "", "a\0b", "a\nb", "a" * 5000,
    "\udc80", "C:\\x", "ü" * 300, "%2e%2e", "a b;c",
])  # fmt: skip
def test_a_hostile_id_stays_in_the_folder(id: str, tmp_path: Path) -> None:
    name = bundle_name(id, "llvm", VERSIONS)
    assert re.fullmatch(r"[A-Za-z0-9%_][A-Za-z0-9%._-]*", name)
    (tmp_path / name).mkdir()
    assert [path.name for path in tmp_path.iterdir()] == [name]
