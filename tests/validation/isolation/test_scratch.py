from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from validation.isolation.scratch import ScratchFolder, remove_abandoned


@pytest.fixture(autouse=True)
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_goes_with_all_that_is_in_it(parent: Path) -> None:
    with ScratchFolder("forge-thing-") as path:
        assert path.parent == parent
        assert path.name.startswith("forge-thing-")
        (path / "folder").mkdir()
        (path / "folder" / "file").write_text("x")
    assert names(parent) == []
    folder = ScratchFolder()
    folder.remove()
    folder.remove()
    assert names(parent) == []


def test_a_living_owner_keeps_it(parent: Path) -> None:
    with ScratchFolder() as path, ScratchFolder() as other:
        remove_abandoned(parent)
        assert names(parent) == sorted([path.name, other.name])


def test_a_dead_owner_does_not(parent: Path) -> None:
    code = (
        "import os, signal, tempfile; from validation.isolation.scratch import ScratchFolder\n"
        f"tempfile.tempdir = {str(parent)!r}\n"
        "(ScratchFolder().path / 'file').write_text('x')\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], check=False, timeout=60)
    (left,) = names(parent)
    with ScratchFolder() as path:
        assert names(parent) == [path.name]
    assert left != path.name


def test_nothing_else_is_touched(parent: Path) -> None:
    """Not what bears our name and no lock, is a link, or is somebody else's."""
    (parent / "forge-mine").mkdir()
    (parent / "forge-file").write_text("x")
    (parent / "other").mkdir()
    (parent / "other" / ".forge-owner").write_text("")
    (parent / "forge-link").symlink_to("other")
    (parent / "forge-trap").mkdir()
    (parent / "forge-trap" / ".forge-owner").symlink_to("../forge-file")
    if os.geteuid() == 0:
        (parent / "forge-foreign").mkdir()
        (parent / "forge-foreign" / ".forge-owner").write_text("")
        os.chown(parent / "forge-foreign", 12345, 12345)
    before = names(parent)
    remove_abandoned(parent)
    assert names(parent) == before
    assert (parent / "other" / ".forge-owner").exists()


def test_a_folder_that_cannot_be_listed(parent: Path) -> None:
    remove_abandoned(parent / "nowhere")
