from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from validation.bundles.parts import Parts, path_record


def writer(size: int) -> Callable[[Path], int]:
    def write(path: Path) -> int:
        path.write_bytes(b"x" * size)
        return size

    return write


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_parts_are_listed_with_size_and_hash(tmp_path: Path) -> None:
    def folder(path: Path) -> None:
        (path / "deep").mkdir(parents=True)
        (path / "deep" / "b").write_bytes(b"1")
        (path / "a").write_bytes(b"")

    parts = Parts(tmp_path, 100)
    assert parts.add("x/0.npz", writer(10)) == 10
    parts.add("model", folder)
    parts.add("README.md", writer(1), record=False)
    assert {name: file.size for name, file in parts.files.items()} == {
        "x/0.npz": 10,
        "model/a": 0,
        "model/deep/b": 1,
    }
    assert parts.left == 89
    assert parts.files["x/0.npz"] == path_record(tmp_path / "x" / "0.npz")


def test_what_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    tried = []
    parts = Parts(tmp_path, 100)
    assert parts.add("a", writer(60)) == 60
    assert parts.add("b", writer(50)) is None
    assert parts.add("c", tried.append, least=41) is None
    assert parts.add("d", writer(40)) == 40
    assert not tried
    assert names(tmp_path) == ["a", "d"]
    assert set(parts.left_out) == {"b", "c"}
    assert "beyond" in parts.left_out["b"]


@pytest.mark.parametrize("error", [
    ValueError("no"),
    MemoryError(),
    OSError(errno.ENOSPC, "No space left on device"),
    RecursionError("deep"),
])  # fmt: skip
def test_what_cannot_be_written_leaves_nothing(error: Exception, tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.mkdir()
        (path / "half").write_bytes(b"1")
        raise error

    parts = Parts(tmp_path, 100)
    assert parts.add("model", write) is None
    assert names(tmp_path) == []
    assert type(error).__name__ in parts.left_out["model"]
    assert parts.files == {}


def test_an_interrupt_is_passed_on(tmp_path: Path) -> None:
    def write(path: Path) -> None:
        path.write_bytes(b"1")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Parts(tmp_path, 100).add("a", write)
    assert names(tmp_path) == []


def test_the_record_of_a_folder_tells_any_change(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a").write_bytes(b"1")
    first = path_record(folder)
    assert path_record(folder) == first
    assert first.size == 1
    (folder / "sub" / "a").rename(folder / "a")
    moved = path_record(folder)
    (folder / "a").write_bytes(b"2")
    assert len({first, moved, path_record(folder)}) == 3
