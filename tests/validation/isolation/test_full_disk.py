"""A disk that is really full: the row of who filled it says so, and all others are whole."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.isolation import WorkerPool
from validation.vocabulary import Reason, Stage, Status


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Mount a file system of 4 MiB, for all temporary files."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("mounting a file system takes privileges that are not there")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def filling(
    folder: Path | None, stage: str, then: str, inner: Callable[[], Any]
) -> Callable[[], Any]:
    """Make a build of a cell that fills a folder, its own one by default, at a stage."""
    place = str(folder) if folder else "."

    def fill(*arguments: Any) -> Any:
        import os

        try:
            for number in range(1000):
                with open(f"{place}/filler-{number}", "wb") as stream:
                    stream.write(b"x" * (64 << 10))
        except OSError:
            if then == "abort":
                os.abort()
            if then == "raise":
                raise
        return dict

    def build() -> Any:
        if stage == "build":
            fill()
        sample = inner()
        if stage == "reference":
            from validation.references.onnx import ONNXFramework

            ONNXFramework.session = fill  # type: ignore[assignment]
        return sample

    return build


@pytest.fixture
def pool(small_disk: Path, tools: SimpleNamespace) -> Iterator[WorkerPool]:
    with WorkerPool(modules=lambda framework: tools.LIGHT_SERVER) as pool:
        yield pool


def test_a_cell_that_fills_its_own_folder(pool: WorkerPool, tools: SimpleNamespace) -> None:
    inner = tools.light_build()
    builds = {
        "good-1": inner,
        "build": filling(None, "build", "raise", inner),
        "reference": filling(None, "reference", "raise", inner),
        "good-2": inner,
        "ignored": filling(None, "reference", "go on", inner),
        "abort": filling(None, "reference", "abort", inner),
        "good-3": inner,
    }
    futures = {
        name: pool.submit(tools.make_case(f"onnx/disk/{name}", build), "llvm")
        for name, build in builds.items()
    }
    rows = {name: future.result(120) for name, future in futures.items()}
    for name in ("good-1", "good-2", "good-3", "ignored"):
        assert rows[name].status is Status.PASS, rows[name]
        assert rows[name].comparisons
    for name in ("build", "reference"):
        assert (rows[name].stage, rows[name].reason) == (Stage(name), Reason.DISK_FULL)
        assert "No space left" in rows[name].message
    assert (rows["abort"].reason, rows["abort"].signal) == (Reason.CRASH, "SIGABRT")
    assert rows["abort"].message.endswith("; the disk is full")
    assert rows["abort"].stage is Stage.REFERENCE


def test_a_disk_that_stays_full(pool: WorkerPool, small_disk: Path, tools: SimpleNamespace) -> None:
    """What lies beside its folder is not removed with it: the row fits where room was made."""
    good = tools.make_case("onnx/disk/good", tools.light_build())
    fill = filling(small_disk, "reference", "raise", tools.light_build())
    assert pool.submit(good, "llvm").result(120)
    row = pool.submit(tools.make_case("onnx/disk/fill", fill), "llvm").result(120)
    assert (row.stage, row.reason) == (Stage.REFERENCE, Reason.DISK_FULL)
    with pytest.raises(OSError, match="No space"):
        fill_up(small_disk / "rest")
    row = pool.submit(good, "llvm").result(120)
    assert (row.stage, row.reason) == (Stage.ENVIRONMENT, Reason.DISK_FULL)
    assert str(small_disk) in row.message
    for filler in small_disk.glob("filler-*"):
        filler.unlink()
    assert pool.submit(good, "llvm").result(120).status is Status.PASS


def fill_up(file: Path) -> None:
    with open(file, "wb", buffering=0) as stream:
        while True:
            stream.write(b"x" * 4096)
