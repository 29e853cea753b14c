"""A bundle may come from anyone: whatever is wrong with it is one clear error, in this process."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forge import InvalidInput
from validation.bundles.opening import refuse_code
from validation.bundles.reading import read_bundle


def list_file(bundle: Path, bundling: SimpleNamespace, name: str) -> None:
    """Have the manifest list a file as it is now."""
    content = (bundle / name).read_bytes()
    record = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    bundling.edit_manifest(bundle, lambda manifest: manifest["files"].update({name: record}))


def test_a_whole_one(bundle: Path, bundling: SimpleNamespace) -> None:
    opened = read_bundle(bundle)
    assert opened.folder == bundle.resolve()
    assert opened.row().id == "onnx/a/b"
    assert opened.environment()["versions"]["onnx"]
    assert bundling.same_arrays(opened.samples("inputs")[0], {"x": bundling.X})
    np.testing.assert_array_equal(
        opened.samples("reference")[0]["y"], np.maximum(bundling.X, 0) + 1
    )
    assert opened.has("ir/folded.forge")
    assert opened.has("ir")
    assert not opened.has("i")
    assert opened.path("model/model.onnx").is_file()


def test_through_a_link_that_the_user_gives(bundle: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bundle)
    assert read_bundle(tmp_path / "link").folder == bundle.resolve()


def test_a_part_that_is_not_there_says_why(bundle: Path, bundling: SimpleNamespace) -> None:
    bundling.edit_manifest(bundle, lambda record: record["left_out"].update(extra="too large"))
    opened = read_bundle(bundle)
    with pytest.raises(InvalidInput, match="holds no extra: too large"):
        opened.path("extra")
    with pytest.raises(InvalidInput, match=r"holds no case\.pkl: the cell ended before"):
        opened.case(trust=True)


def test_the_readme_may_be_edited(bundle: Path) -> None:
    (bundle / "README.md").write_text("my notes")
    (bundle / "notes.txt").write_text("more of them")
    read_bundle(bundle)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def to_link(path: Path) -> None:
    outside = path.parents[2] / "outside"
    path.rename(outside)
    path.symlink_to(outside)


def to_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("change", [Path.unlink, cut, flip, to_link, to_fifo])
@pytest.mark.parametrize("name", ["inputs/0.npz", "model/model.onnx", "ir/folded.forge"])
def test_a_damaged_file(change: Callable[[Path], None], name: str, bundle: Path) -> None:
    change(bundle / name)
    with pytest.raises(InvalidInput, match=name):
        read_bundle(bundle)


def test_a_folder_that_is_a_link(bundle: Path, tmp_path: Path) -> None:
    (bundle / "model").rename(tmp_path / "outside")
    (bundle / "model").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidInput, match="is a link or a device"):
        read_bundle(bundle)


def test_a_link_beside_the_parts(bundle: Path) -> None:
    (bundle / "etc").symlink_to("/etc")
    with pytest.raises(InvalidInput, match="is a link or a device"):
        read_bundle(bundle)


def test_a_file_beside_the_model(bundle: Path) -> None:
    (bundle / "model" / "model.pkl").write_bytes(b"1")
    with pytest.raises(InvalidInput, match=r"does not list its file 'model/model\.pkl'"):
        read_bundle(bundle)


def test_many_files(bundle: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("validation.bundles.reading._MOST_FILES", 5)
    with pytest.raises(InvalidInput, match="more than 5 files"):
        read_bundle(bundle)


@pytest.mark.parametrize("path", ["nothing", "a file"])
def test_no_folder(path: str, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("1")
    with pytest.raises(InvalidInput, match="there is no folder"):
        read_bundle(tmp_path / path)


def test_one_that_was_not_finished(bundle: Path, bundling: SimpleNamespace) -> None:
    bundling.edit_manifest(bundle, lambda record: record.update(complete=False))
    with pytest.raises(InvalidInput, match="not complete"):
        read_bundle(bundle)


@pytest.mark.parametrize("content", [b"", b"PK", b"\0" * 100])
def test_arrays_that_are_none(content: bytes, bundle: Path, bundling: SimpleNamespace) -> None:
    (bundle / "inputs" / "0.npz").write_bytes(content)
    list_file(bundle, bundling, "inputs/0.npz")
    with pytest.raises(InvalidInput, match=r"inputs/0\.npz' is damaged"):
        read_bundle(bundle).samples("inputs")


@pytest.mark.parametrize("content", [
    b"", b"[]", b"{}", b"\xff", b'{"schema": 99}', b'{"schema": 1, "status": "FAIL"}', b"[" * 99999,
])  # fmt: skip
@pytest.mark.parametrize("name", ["row", "environment"])
def test_texts_that_are_none(
    content: bytes, name: str, bundle: Path, bundling: SimpleNamespace
) -> None:
    (bundle / f"{name}.json").write_bytes(content)
    list_file(bundle, bundling, f"{name}.json")
    with pytest.raises(InvalidInput, match=rf"{name}\.json' is damaged"):
        getattr(read_bundle(bundle), name)()


class Hostile:
    """Leaves a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("name", ["case.pkl", "options.pkl"])
def test_no_pickle_is_opened_without_trust(
    name: str, bundle: Path, bundling: SimpleNamespace, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    (bundle / name).write_bytes(cloudpickle.dumps(Hostile(trace)))
    list_file(bundle, bundling, name)
    bundling.edit_manifest(bundle, lambda record: record.update(pickled_options=["custom_ops"]))
    opened = read_bundle(bundle)
    read = opened.case if name == "case.pkl" else opened.options
    with pytest.raises(InvalidInput, match="--trust") as caught:
        read(trust=False)
    assert "--without-model" in str(caught.value)
    assert not trace.exists()
    with pytest.raises(InvalidInput, match="holds no"):
        read(trust=True)
    assert trace.exists()


def test_a_pickle_that_cannot_be_opened_here(bundle: Path, bundling: SimpleNamespace) -> None:
    (bundle / "case.pkl").write_bytes(b"cno_such_module\nname\n.")
    list_file(bundle, bundling, "case.pkl")
    with pytest.raises(InvalidInput, match="cannot be unpickled here: ModuleNotFoundError"):
        read_bundle(bundle).case(trust=True)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_change_of_the_manifest_is_one_error(bundle_source: Path, data: st.DataObject) -> None:
    """Change a bundle's manifest at a place that hypothesis chooses; files are not touched."""
    genuine = (bundle_source / "bundle.json").read_bytes()
    content = bytearray(genuine)
    at = data.draw(st.integers(0, len(content)))
    cut = data.draw(st.integers(0, 30))
    content[at : at + cut] = data.draw(
        st.sampled_from([b"", b"null", b"-1", b"[]", b"{}", b"1e999", b'"../x"', b"NaN", b"true"])
        | st.binary(max_size=8)
    )
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(bundle_source, Path(folder, "b")))
        (copy / "bundle.json").write_bytes(content)
        with contextlib.suppress(InvalidInput):
            opened = read_bundle(copy)
            opened.row()
            opened.environment()
            opened.options(trust=False)
            for kind in ("inputs", "reference", "ours"):
                opened.samples(kind)
            refuse_code(opened, trust=False)


def test_a_copy_of_a_copy(bundle: Path, tmp_path: Path) -> None:
    shutil.make_archive(str(tmp_path / "sent"), "zip", bundle)
    shutil.unpack_archive(tmp_path / "sent.zip", tmp_path / "received")
    read_bundle(tmp_path / "received")
