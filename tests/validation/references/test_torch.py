"""The PyTorch reference: files, safety, and values by name."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from forge import InvalidInput, TensorSpec  # noqa: E402
from validation.references.torch import TorchFramework  # noqa: E402

nn = torch.nn
FRAMEWORK = TorchFramework()
OPTIONS = {"input_info": [("x", (2, 3)), ("unused", (2, 3))]}
EXAMPLE = (torch.ones(2, 3), torch.zeros(2, 3))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)
        nn.init.normal_(self.norm.running_mean)

    def forward(self, x: torch.Tensor, unused: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"b": self.norm(x), "a": x.add_(1)}


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (self.path,))


def _models() -> dict[str, Any]:
    net = Net().eval()
    return {
        "module": net,
        "script": torch.jit.trace(net, EXAMPLE, strict=False),
        "program": torch.export.export(net, EXAMPLE),
    }


@pytest.mark.parametrize("form", ["module", "script", "program"])
def test_a_stored_model_gives_the_same_values_by_name(form: str, tmp_path: Path) -> None:
    model = _models()[form]
    assert FRAMEWORK.recognises(model)
    FRAMEWORK.store(model, tmp_path, OPTIONS)
    arrays = {"unused": np.zeros((2, 3), "f"), "x": np.arange(6, dtype="f").reshape(2, 3)}
    results = [
        FRAMEWORK.session(each, OPTIONS, 1)(arrays) for each in (model, FRAMEWORK.restore(tmp_path))
    ]
    assert list(results[0]) == ["b", "a"]
    assert arrays["x"][0, 0] == 0
    for name, value in results[0].items():
        np.testing.assert_array_equal(value, results[1][name])
    np.testing.assert_array_equal(results[0]["a"], arrays["x"] + 1)
    assert FRAMEWORK.load(model, OPTIONS).outputs[0].name == "b"


def test_the_reference_runs_in_eval_mode_and_leaves_the_module_alone() -> None:
    net = Net().train()
    mean = net.norm.running_mean.clone()
    session = FRAMEWORK.session(net, OPTIONS, 1)
    x = np.random.default_rng(0).standard_normal((2, 3)).astype("f")
    first = session({"x": x, "unused": x})
    second = session({"x": x, "unused": x})
    np.testing.assert_array_equal(first["b"], second["b"])
    assert net.training
    assert torch.equal(net.norm.running_mean, mean)


def test_inputs_come_from_the_options_or_the_program() -> None:
    assert FRAMEWORK.inputs(Net(), OPTIONS)[1] == TensorSpec("unused", (2, 3), "float32")
    assert FRAMEWORK.inputs(_models()["program"], {})[0] == TensorSpec("x", (2, 3), "float32")
    with pytest.raises(InvalidInput, match="does not say"):
        FRAMEWORK.inputs(Net(), {})


def test_bfloat16_goes_in_and_comes_out() -> None:
    import ml_dtypes

    options = {"input_info": [("x", (2,), "bfloat16")]}
    x = np.array([1.5, -2], ml_dtypes.bfloat16)
    found = FRAMEWORK.session(nn.ReLU(), options, 1)({"x": x})["output0"]
    assert found.dtype == x.dtype
    assert found.tolist() == [1.5, 0]


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".ts", ".pt2"])
def test_content_decides_what_a_file_is(suffix: str, tmp_path: Path) -> None:
    models = _models()
    path = tmp_path / f"model{suffix}"
    torch.jit.save(models["script"], path)
    assert isinstance(FRAMEWORK.open(path, trust=False), torch.jit.ScriptModule)
    with path.open("wb") as stream:
        torch.export.save(models["program"], stream)
    assert isinstance(FRAMEWORK.open(path, trust=False), torch.export.ExportedProgram)


def test_a_pickled_module_needs_trust(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(nn.Linear(3, 2), path)
    with pytest.raises(InvalidInput, match="trust"):
        FRAMEWORK.open(path, trust=False)
    assert isinstance(FRAMEWORK.open(path, trust=True), nn.Linear)


def test_a_state_dict_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "model.pth"
    torch.save(nn.Linear(3, 2).state_dict(), path)
    with pytest.raises(InvalidInput, match="load_state_dict"):
        FRAMEWORK.open(path, trust=False)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"no model at all"])
def test_damaged_files_are_one_clear_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(content)
    for trust in (False, True):
        with pytest.raises(InvalidInput, match=r"model\.pt"):
            FRAMEWORK.open(path, trust=trust)


def _program_file(folder: Path, change: Any) -> Path:
    """Write an exported program and change members of its archive."""
    good, path = folder / "good.pt2", folder / "model.pt2"
    torch.export.save(_models()["program"], good)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = change(name, source.read(name))
            if content is not None:
                target.writestr(name, content)
        for name, content in (change("", b"") or {}).items():
            target.writestr(name, content)
    return path


def _with_pickle(folder: Path) -> Any:
    evil = pickle.dumps(Evil(folder / "harm"))
    return lambda name, content: (
        {} if not name else evil if name.endswith("sample_inputs/model.pt") else content
    )


def _with_pickled_weights(_folder: Path) -> Any:
    def change(name: str, content: bytes) -> Any:
        if not name:
            return {}
        if name.endswith("weights_config.json"):
            return content.replace(b'"use_pickle": false', b'"use_pickle": true')
        return content

    return change


def _with_expression(folder: Path) -> Any:
    text = f"__import__('pathlib').Path({str(folder / 'harm')!r}).touch()"

    def change(name: str, content: bytes) -> Any:
        if not name:
            return {}
        if name.endswith("models/model.json"):
            document = json.loads(content)
            document["forged"] = {"expr_str": text}
            return json.dumps(document)
        return content

    return change


def _with_target(_folder: Path) -> Any:
    def change(name: str, content: bytes) -> Any:
        if not name:
            return {}
        return content.replace(b"torch.ops.aten.add_.Tensor", b"torch.os.system")

    return change


def _with_library(_folder: Path) -> Any:
    return lambda name, content: content if name else {"good/data/aotinductor/m/x.so": b"\x7fELF"}


@pytest.mark.parametrize(
    "make", [_with_pickle, _with_pickled_weights, _with_expression, _with_target, _with_library]
)
def test_a_hostile_program_is_refused_before_anything_runs(make: Any, tmp_path: Path) -> None:
    path = _program_file(tmp_path, make(tmp_path))
    with pytest.raises(InvalidInput, match="can run code"):
        FRAMEWORK.open(path, trust=False)
    assert not (tmp_path / "harm").exists()


def test_a_program_with_symbolic_shapes_opens_without_trust(tmp_path: Path) -> None:
    batch = torch.export.Dim("batch")
    module = nn.Sequential(nn.MaxPool2d(3, 2), nn.Flatten(0))
    shapes = ({0: batch, 2: torch.export.Dim("height", min=5)},)
    program = torch.export.export(module, (torch.ones(2, 3, 8, 8),), dynamic_shapes=shapes)
    path = tmp_path / "model.pt2"
    torch.export.save(program, path)
    assert isinstance(FRAMEWORK.open(path, trust=False), torch.export.ExportedProgram)


def test_a_hostile_script_is_refused(tmp_path: Path) -> None:
    class Reads(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + torch.from_file("/etc/hostname", False, 4)

    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(Reads()), path)
    with pytest.raises(InvalidInput, match="from_file"):
        FRAMEWORK.open(path, trust=False)
