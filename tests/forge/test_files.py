from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from forge.files import whole_file, write_whole


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def mask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_bytes_and_text(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"\x00\xff")
    write_whole(str(tmp_path / "b"), "grün\n")
    assert (tmp_path / "a").read_bytes() == b"\x00\xff"
    assert (tmp_path / "b").read_bytes() == "grün\n".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_a_name_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_whole("a", "x")
    assert (tmp_path / "a").read_text() == "x"


def test_a_name_as_long_as_names_can_be(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), "x")


class TestModes:
    def test_a_new_file_is_as_readable_as_the_mask_says(self, tmp_path: Path, mask: None) -> None:
        write_whole(tmp_path / "a", "x")
        assert mode_of(tmp_path / "a") == 0o640

    def test_an_old_file_keeps_its_mode(self, tmp_path: Path, mask: None) -> None:
        (tmp_path / "a").write_text("old")
        (tmp_path / "a").chmod(0o755)
        write_whole(tmp_path / "a", "new")
        assert mode_of(tmp_path / "a") == 0o755


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/file")
    write_whole(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "folder" / "file").read_text() == "x"


class TestFailures:
    def test_a_block_that_raises_changes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_text("old")

        def half() -> None:
            with whole_file(tmp_path / "a") as stream:
                stream.write(b"half of it")
                raise RuntimeError("enough")

        with pytest.raises(RuntimeError, match="enough"):
            half()
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_text() == "old"

    def test_the_error_names_the_file(self, tmp_path: Path) -> None:
        for path in (tmp_path / "nowhere" / "a", tmp_path):
            with pytest.raises(OSError, match=path.name) as caught:
                write_whole(path, "x")
            assert caught.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []

    def test_the_error_of_another_file_keeps_its_name(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match="other"), whole_file(tmp_path / "a"):
            (tmp_path / "other").read_bytes()

    @pytest.mark.parametrize("size", [1000, 1 << 20])
    def test_a_file_that_may_not_grow(self, tmp_path: Path, size: int) -> None:
        (tmp_path / "a").write_text("old")
        code = (
            "import resource, sys; from forge.files import write_whole\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
            f"try: write_whole(sys.argv[1], b'x' * {size})\n"
            "except OSError as error: print(error.errno, error.filename)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "a")],
            capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        assert done.stdout.split() == [str(int(errno.EFBIG)), str(tmp_path / "a")]
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert (tmp_path / "a").read_text() == "old"
