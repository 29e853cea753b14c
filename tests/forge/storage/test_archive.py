import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import forge
from forge import _tvm

BIG = 2**53 + 1


@pytest.fixture
def ir(relax_module: Callable[..., Any]) -> forge.IRModule:
    from tvm import relax

    weight = _tvm.constant(np.random.default_rng(0).standard_normal((3, 2)).astype("float32"))

    def body(builder: Any, x: Any) -> Any:
        y = builder.emit(relax.op.matmul(x, weight))
        half = _tvm.constant(np.array([1.5, -0.0], dtype=ml_dtypes.bfloat16))
        return relax.Tuple([y, _tvm.constant(np.array([BIG, -1])), half, weight])

    module = relax_module({"x": (("N", 3), "float32")}, body)
    return forge.IRModule(
        module,
        [forge.TensorSpec("a/b:0", ("N", 3), "float32")],
        [
            forge.TensorSpec("y", ("N", 2), "float32"),
            forge.TensorSpec("big", (2,), "int64"),
            forge.TensorSpec("half", (2,), "bfloat16"),
            forge.TensorSpec("w", (3, 2), "float32"),
        ],
        [forge.Step("fold", "because", 2, ("one", "two"))],
    )


def test_round_trip_keeps_everything(ir: forge.IRModule, tmp_path: Path) -> None:
    import tvm

    ir.save(tmp_path / "model.forge")
    back = forge.load(tmp_path / "model.forge")
    tvm.ir.assert_structural_equal(back.module, ir.module, map_free_vars=True)
    assert (back.inputs, back.outputs, back.history) == (ir.inputs, ir.outputs, ir.history)
    x = np.ones((4, 3), "float32")
    ours, theirs = back.compile().run({"a/b:0": x}), ir.compile().run({"a/b:0": x})
    assert ours["big"].tolist() == [BIG, -1]
    for name in theirs:
        np.testing.assert_array_equal(ours[name], theirs[name])


def test_shared_constants_are_written_once(ir: forge.IRModule, tmp_path: Path) -> None:
    ir.save(tmp_path / "model.forge")
    with zipfile.ZipFile(tmp_path / "model.forge") as archive:
        constants = [name for name in archive.namelist() if name.startswith("constants/")]
    assert len(constants) == 3


def test_failed_save_leaves_the_old_file(
    ir: forge.IRModule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.forge"
    file.write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)
    with pytest.raises(forge.ForgeError, match="No space left"):
        ir.save(file)
    assert file.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["model.forge"]


def test_save_into_a_missing_folder_is_one_clear_error(ir: forge.IRModule, tmp_path: Path) -> None:
    with pytest.raises(forge.ForgeError, match="cannot write"):
        ir.save(tmp_path / "none" / "model.forge")


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip at all"])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "model.forge"
    file.write_bytes(content)
    with pytest.raises(forge.InvalidInput, match=r"not a whole file of IRModule\.save"):
        forge.load(file)


def test_truncated_file_is_refused(ir: forge.IRModule, tmp_path: Path) -> None:
    file = tmp_path / "model.forge"
    ir.save(file)
    file.write_bytes(file.read_bytes()[:-200])
    with pytest.raises(forge.InvalidInput):
        forge.load(file)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(forge.InvalidInput, match="no file"):
        forge.load(tmp_path / "none.forge")


def _rewrite(file: Path, member: str, change: Callable[[bytes], bytes]) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = change(members[member])
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_newer_schema_is_refused_by_number(ir: forge.IRModule, tmp_path: Path) -> None:
    file = tmp_path / "model.forge"
    ir.save(file)
    _rewrite(
        file, "header.json", lambda data: json.dumps({**json.loads(data), "schema": 99}).encode()
    )
    with pytest.raises(forge.InvalidInput, match="schema 99"):
        forge.load(file)


def test_constants_of_another_shape_are_refused(ir: forge.IRModule, tmp_path: Path) -> None:
    file = tmp_path / "model.forge"
    ir.save(file)

    def swap(data: bytes) -> bytes:
        header = json.loads(data)
        for record in header["constants"]:
            record["shape"] = record["shape"][::-1]
        return json.dumps(header).encode()

    _rewrite(file, "header.json", swap)
    with pytest.raises(forge.InvalidInput):
        forge.load(file)
