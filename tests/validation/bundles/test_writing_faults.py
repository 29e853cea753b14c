"""Whatever happens to the process or the disk while a bundle is written, the verdict stays."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import forge
from validation.bundles.cleaning import clean
from validation.bundles.manifest import read_manifest
from validation.bundles.reading import read_bundle
from validation.bundles.writing import write_bundle
from validation.references import framework_named
from validation.result import CheckResult, from_json
from validation.trial import Trial
from validation.vocabulary import Reason, Stage


@contextmanager
def file_size_limit(limit: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as on a disk that is full."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_files_that_may_not_grow(
    trial: Trial, row: CheckResult, tmp_path: Path, bundling: SimpleNamespace
) -> None:
    trial.ir = bundling.FakeIR(1 << 20)  # type: ignore[assignment]
    with file_size_limit(100 << 10):
        written = write_bundle(trial, row, tmp_path)
    bundle = read_bundle(Path(written.bundle))
    assert written.changed(bundle="") == row
    assert "too large" in bundle.manifest.left_out["ir/folded.forge"]
    assert len(bundle.manifest.ours) == 3


def test_no_file_at_all_may_be_written(trial: Trial, row: CheckResult, tmp_path: Path) -> None:
    with file_size_limit(0):
        written = write_bundle(trial, row, tmp_path)
    assert written.bundle == ""
    assert written.notes[0].startswith("no bundle could be written: ")
    assert written.changed(notes=()) == row
    assert list(tmp_path.iterdir()) == []


class TestLoadingAgain:
    """The IR before folding costs another load where the first one did not keep it."""

    def test_it_is_added_to_a_bundle_that_stands(
        self, trial: Trial, row: CheckResult, tmp_path: Path, bundling: SimpleNamespace
    ) -> None:
        kept: list[CheckResult] = []

        def load(model: Any, options: Any) -> Any:
            assert options == {"fold": False, "opset": 13}
            assert read_bundle(Path(kept[0].bundle)).has("ir/folded.forge")
            return bundling.FakeIR()

        trial.framework = fake_framework(load)
        written = write_bundle(trial, row, tmp_path, keep=kept.append)
        assert kept == [written]
        bundle = read_bundle(Path(written.bundle))
        assert bundle.has("ir/unfolded.forge")
        assert "unfolded" in (bundle.folder / "README.md").read_text()

    def test_dying_of_it_leaves_the_bundle(
        self, trial: Trial, row: CheckResult, tmp_path: Path
    ) -> None:
        def load(model: Any, options: Any) -> Any:
            os._exit(42)

        trial.framework = fake_framework(load)
        child = os.fork()
        if not child:
            write_bundle(trial, row, tmp_path)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
        (path,) = tmp_path.iterdir()
        bundle = read_bundle(path)
        assert bundle.has("ir/folded.forge")
        assert not bundle.has("ir/unfolded.forge")

    def test_it_is_not_tried_where_loading_failed(
        self, trial: Trial, row: CheckResult, tmp_path: Path
    ) -> None:
        trial.ir = None
        trial.framework = fake_framework(lambda model, options: pytest.fail("loaded again"))
        row = row.changed(stage=Stage.LOAD, reason=Reason.FRONTEND_ERROR)
        bundle = read_bundle(Path(write_bundle(trial, row, tmp_path).bundle))
        assert not bundle.has("ir")


def fake_framework(load: Any) -> Any:
    store = framework_named("onnx").store
    return SimpleNamespace(name="onnx", packages=(), store=store, load=load)


_CELL = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
import numpy as np
from validation.bundles.writing import write_bundle
from validation.case import BuiltSample, Case
from validation.result import CheckResult
from validation.trial import Trial
from validation.vocabulary import Reason, Stage, Status

def store(model, folder, options):
    (folder / "half").write_bytes(b"1")
    if len(sys.argv) > 2:
        (folder / "rest").write_bytes(bytes(1 << 20))
    print("storing", flush=True)
    time.sleep(1000)

framework = SimpleNamespace(name="onnx", packages=(), store=store)
inputs = [{"x": np.zeros(9000)}]
trial = Trial(Case("onnx/a/b", "onnx", print), "llvm", framework, BuiltSample(1, *inputs), inputs)
trial.references = [{"y": np.zeros(9000)} for _ in range(3)]
row = CheckResult("onnx/a/b", "onnx", "llvm", Status.FAIL, Stage.LOAD, Reason.FRONTEND_ERROR)
print(write_bundle(trial, row, Path(sys.argv[1])).to_json())
"""


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(forge.__file__).parents[1])}


def test_a_full_disk(tmp_path: Path) -> None:
    """Write into a file system of 200 kB, in a namespace of its own; its contents are listed."""
    script = tmp_path / "cell.py"
    script.write_text(_CELL)
    small = tmp_path / "small"
    small.mkdir()
    shell = (
        f"mount -t tmpfs -o size=200k none {small} || exit 77; "
        f"{sys.executable} {script} {small} full || exit 1; "
        f"cp -r {small}/. {tmp_path}/copy"
    )
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", shell]
    try:
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("unshare is not installed")
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    row = from_json(done.stdout.splitlines()[-1])
    (path,) = (tmp_path / "copy").iterdir()
    assert path.name == Path(row.bundle).name
    assert (row.stage, row.reason, row.notes) == (Stage.LOAD, Reason.FRONTEND_ERROR, ())
    manifest = read_bundle(path).manifest
    assert "No space left" in manifest.left_out["model"]
    assert "No space left" in manifest.left_out["reference/1.npz"]
    assert len(manifest.inputs) == len(manifest.reference) == 1


def test_kill_while_writing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _CELL, str(tmp_path)], stdout=subprocess.PIPE, env=environment()
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"storing\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    (path,) = tmp_path.iterdir()
    assert path.name.startswith(".")
    assert not read_manifest(path).complete
    with pytest.raises(forge.InvalidInput, match="not complete"):
        read_bundle(path)
    assert clean(tmp_path) == ()
    old = time.time() - 86400
    os.utime(path / "bundle.json", (old, old))
    assert clean(tmp_path) == (path,)
    assert list(tmp_path.iterdir()) == []
