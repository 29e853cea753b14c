from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from validation.cli import main

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
Forge = Callable[..., tuple[int, str]]

pytestmark = pytest.mark.usefixtures("shared_pool")


@pytest.fixture
def forge(capsys: pytest.CaptureFixture[str]) -> Forge:
    """Run a command; give its exit code and all that it printed."""

    def forge(*arguments: object) -> tuple[int, str]:
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        text = captured.out + captured.err
        assert "Traceback" not in text
        assert "internal error" not in text
        return code, text

    return forge


def npz(path: Path, **arrays: Any) -> Path:
    np.savez(path, **arrays)
    return path


def test_a_pass(forge: Forge, onnx_file: Path) -> None:
    code, text = forge("check", onnx_file)
    assert code == 0
    assert text.startswith("PASS  onnx/file/relu.onnx")
    assert "times native" in text


def test_json(forge: Forge, onnx_file: Path) -> None:
    code, text = forge("check", onnx_file, "--json", "--no-latency", "--input", "x=4x3")
    record = json.loads(text)
    assert code == 0
    assert record["status"] == "PASS"
    assert record["latency"] == {}
    code, text = forge("check", onnx_file, "--json", "--input", "z=4x3")
    assert (code, json.loads(text)["reason"]) == (2, "invalid-input")


def test_golden_data(forge: Forge, onnx_file: Path, tmp_path: Path) -> None:
    inputs = npz(tmp_path / "x.npz", x=X)
    good = npz(tmp_path / "good.npz", y=np.maximum(X, 0))
    bad = npz(tmp_path / "bad.npz", y=np.maximum(X, 0.25))
    named = npz(tmp_path / "named.npz", q=np.maximum(X, 0))
    golden = ["check", onnx_file, "--inputs", inputs, "--expected"]
    assert forge(*golden, good)[0] == 0
    code, text = forge(*golden, bad)
    assert code == 1
    assert "wrong-values" in text
    assert forge(*golden, bad, "--atol", "0.5")[0] == 0
    code, text = forge(*golden, named)
    assert code == 1
    assert "wrong-names" in text


@pytest.mark.parametrize(("name", "content", "text"), [
    ("none.onnx", None, "there is no file"),
    ("empty.onnx", b"", "is empty"),
    ("garbage.onnx", b"this is no protobuf at all, not even nearly", "garbage.onnx"),
    ("model.xyz", b"1", "does not say which framework"),
    ("model", b"1", "does not say which framework"),
])  # fmt: skip
def test_a_file_that_is_no_model(
    forge: Forge, tmp_path: Path, name: str, content: bytes | None, text: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code, printed = forge("check", tmp_path / name)
    assert code == 2
    assert text in printed


def test_a_truncated_model(forge: Forge, tmp_path: Path, tools: SimpleNamespace) -> None:
    content = tools.onnx_model().SerializeToString()
    for share in (0.3, 0.6, 0.95):
        (tmp_path / "cut.onnx").write_bytes(content[: int(len(content) * share)])
        code, text = forge("check", tmp_path / "cut.onnx")
        assert code == 2, (share, text)
        assert "cut.onnx" in text


def test_a_folder_that_is_no_saved_model(forge: Forge, tmp_path: Path) -> None:
    code, text = forge("check", tmp_path)
    assert code == 2
    assert "no SavedModel" in text


@pytest.mark.parametrize(("shape", "text"), [
    ("z=2x3", "the model's inputs are x: Nx3 float32"),
    ("x=2x4", "x"),
    ("x=2x3x1", "x"),
    ("x=2x3:float99", "float99"),
    ("x=2x3:", ""),
])  # fmt: skip
def test_input_options(forge: Forge, onnx_file: Path, shape: str, text: str) -> None:
    code, printed = forge("check", onnx_file, "--input", shape, "--no-latency")
    assert code == (2 if text else 0), printed
    assert text in printed


@pytest.mark.parametrize(("arrays", "text"), [
    ({"z": X}, "missing input 'x'"),
    ({"x": X, "more": X}, "unknown input 'more'"),
    ({"x": X.astype("float64")}, "float64, not float32"),
    ({"x": X[:, :2]}, "has shape (2, 2)"),
    ({}, "missing input 'x'"),
])  # fmt: skip
def test_arrays_that_do_not_fit(
    forge: Forge, onnx_file: Path, tmp_path: Path, arrays: dict[str, Any], text: str
) -> None:
    code, printed = forge("check", onnx_file, "--inputs", npz(tmp_path / "x.npz", **arrays))
    assert code == 2, printed
    assert text in printed


def test_outputs_without_inputs(forge: Forge, onnx_file: Path, tmp_path: Path) -> None:
    code, text = forge("check", onnx_file, "--expected", npz(tmp_path / "y.npz", y=X))
    assert code == 2
    assert "--expected needs --inputs" in text


def broken_archives(folder: Path) -> dict[str, Path]:
    whole = npz(folder / "whole.npz", x=np.arange(10000)).read_bytes()
    np.savez_compressed(folder / "packed.npz", x=np.random.default_rng(0).integers(0, 9, 10000))
    packed = bytearray((folder / "packed.npz").read_bytes())
    packed[len(packed) // 2 : len(packed) // 2 + 50] = bytes(50)
    contents = {"cut": whole[:5000], "empty": b"", "text": b"hello", "damaged": bytes(packed)}
    paths = {name: folder / f"{name}.npz" for name in contents}
    for name, content in contents.items():
        paths[name].write_bytes(content)
    np.save(folder / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    return {**paths, "npy": folder / "objects.npy", "missing": folder / "none.npz"}


def test_broken_archives(forge: Forge, onnx_file: Path, tmp_path: Path) -> None:
    for name, path in broken_archives(tmp_path).items():
        code, text = forge("check", onnx_file, "--inputs", path)
        assert code == 2, name
        assert "cannot be read as named arrays" in text, name


def test_pickled_objects_are_not_run(forge: Forge, onnx_file: Path, tmp_path: Path) -> None:
    marker = tmp_path / "executed"

    class Evil:
        def __reduce__(self) -> Any:
            return (Path.touch, (marker,))

    np.savez(tmp_path / "evil.npz", x=np.array([Evil()], dtype=object))
    code, text = forge("check", onnx_file, "--inputs", tmp_path / "evil.npz")
    assert code == 2
    assert "cannot be read as named arrays" in text
    assert not marker.exists()


@pytest.mark.parametrize("option", [["--signature", "s"], ["--outputs", "a,b"]])
def test_options_of_other_frameworks(forge: Forge, onnx_file: Path, option: list[str]) -> None:
    code, text = forge("check", onnx_file, *option)
    assert code == 2
    assert "for TensorFlow models" in text


def test_a_bad_target(forge: Forge, onnx_file: Path) -> None:
    code, text = forge("check", onnx_file, "--target", "no-such-target")
    assert code in (1, 2)
    assert "no-such-target" in text


def test_an_unsupported_operator_is_named(
    forge: Forge, tmp_path: Path, tools: SimpleNamespace
) -> None:
    model = tools.onnx_model("Frobnicate")
    model.graph.node[0].domain = "acme"
    model.opset_import.add(domain="acme", version=1)
    (tmp_path / "custom.onnx").write_bytes(model.SerializeToString())
    golden = ["--inputs", npz(tmp_path / "x.npz", x=X), "--expected", npz(tmp_path / "y.npz", y=X)]
    code, text = forge("check", tmp_path / "custom.onnx", *golden)
    assert code == 2
    assert "acme::Frobnicate" in text
