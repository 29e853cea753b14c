"""However its model is held, a bundle gives the same verdict when it is replayed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput
from validation.bundles.parts import path_record
from validation.bundles.reading import read_bundle
from validation.bundles.replaying import Replay, replay
from validation.bundles.sources import ModelFile, StoredModel
from validation.case import BuiltSample, Case
from validation.references import framework_named
from validation.vocabulary import Reason, Stage, Status

pytestmark = pytest.mark.usefixtures("direct_pool")

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
Build = Callable[[], BuiltSample]


def same(found: Replay) -> bool:
    return found.outcome == "same verdict" and found.row.status is Status.FAIL


def take_model(bundle: Path, bundling: SimpleNamespace, origin: dict[str, Any]) -> None:
    """Have a bundle say where its model is, instead of holding it."""

    def change(manifest: dict[str, Any]) -> None:
        manifest.update(model="", origin=origin)
        del manifest["files"]["model/model.onnx"]

    bundling.edit_manifest(bundle, change)
    shutil.rmtree(bundle / "model")


def torch_module() -> Any:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()).eval()


def torch_build(make: Callable[[Any, Any], Any]) -> Build:
    def build() -> BuiltSample:
        torch = pytest.importorskip("torch")
        model = make(torch_module(), torch.from_numpy(X))
        return BuiltSample(model, {"x": X}, {"input_info": [("x", (2, 3))]})

    return build


def scripted(module: Any, x: Any) -> Any:
    import torch

    return torch.jit.script(module)


def exported(module: Any, x: Any) -> Any:
    import torch

    return torch.export.export(module, (x,))


def keras_build() -> BuiltSample:
    keras = pytest.importorskip("keras")
    keras.utils.set_random_seed(0)
    layers = [keras.Input((3,), name="x"), keras.layers.Dense(2, "tanh", name="y")]
    return BuiltSample(keras.Sequential(layers), {"x": X}, {"shape_dict": {"x": (2, 3)}})


def tensorflow_function() -> Any:
    tf = pytest.importorskip("tensorflow")
    weight = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2) / 6)
    function = tf.function(
        lambda x: tf.tanh(x @ weight),
        input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")],
    )
    function.kept_alive = weight
    return function


def tensorflow_build() -> BuiltSample:
    return BuiltSample(tensorflow_function(), {"x": X})


def tflite_build() -> BuiltSample:
    tf = pytest.importorskip("tensorflow")
    function = tf.function(
        lambda x: tf.tanh(x @ tf.constant(X[:, :2].T @ X[:, :2])),
        input_signature=[tf.TensorSpec([1, 2], tf.float32, name="x")],
    )
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()])
    data = converter.convert()
    (details,) = tf.lite.Interpreter(model_content=data).get_input_details()
    return BuiltSample(data, {details["name"]: X[:1, :2]})


BUILDS: dict[str, tuple[str, Build, bool]] = {
    "torch module": ("torch", torch_build(lambda module, x: module), True),
    "torch scripted": ("torch", torch_build(scripted), False),
    "torch exported": ("torch", torch_build(exported), False),
    "keras": ("keras", keras_build, False),
    "tensorflow": ("tensorflow", tensorflow_build, False),
    "tflite": ("tflite", tflite_build, False),
}


@pytest.mark.parametrize("kind", BUILDS)
def test_each_framework(kind: str, tmp_path: Path, bundling: SimpleNamespace) -> None:
    framework, build, needs_trust = BUILDS[kind]
    case = bundling.expecting_too_much(framework, build)
    row = bundling.write(case, tmp_path / "made")
    assert (row.stage, row.reason) == (Stage.COMPARE, Reason.WRONG_VALUES), row.message
    bundle = Path(shutil.move(row.bundle, tmp_path / "moved"))
    assert not read_bundle(bundle).manifest.left_out
    if needs_trust:
        with pytest.raises(InvalidInput, match="--trust"):
            replay(bundle)
    found = replay(bundle, trust=needs_trust)
    assert same(found), (found.changes, found.row.message)
    assert found.row.message == row.message
    assert found.environment == ()
    assert same(replay(bundle, without_model=True))


class TestFiles:
    def test_a_keras_file(self, tmp_path: Path, bundling: SimpleNamespace) -> None:
        sample = keras_build()
        sample.model.save(tmp_path / "my model.h5")
        source = ModelFile("keras", tmp_path / "my model.h5", False, [{"x": X}], sample.options)
        bundle = self.failing(bundling, "keras", source, tmp_path)
        (tmp_path / "my model.h5").unlink()
        assert (bundle / "model" / "model.h5").is_file()
        assert same(replay(bundle))

    def test_a_saved_model(self, tmp_path: Path, bundling: SimpleNamespace) -> None:
        tf = pytest.importorskip("tensorflow")
        module = tf.Module()
        module.f = tensorflow_function()
        module.variables_of_f = [module.f.kept_alive]
        tf.saved_model.save(module, tmp_path / "saved", signatures={"serving_default": module.f})
        source = ModelFile("tensorflow", tmp_path / "saved", False, [{"x": X}])
        bundle = self.failing(bundling, "tensorflow", source, tmp_path)
        shutil.rmtree(tmp_path / "saved")
        assert same(replay(bundle))

    def test_a_pickled_module(self, tmp_path: Path, bundling: SimpleNamespace) -> None:
        torch = pytest.importorskip("torch")
        torch.save(torch_module(), tmp_path / "model.pt")
        options = {"input_info": [("x", (2, 3))]}
        source = ModelFile("torch", tmp_path / "model.pt", True, [{"x": X}], options)
        bundle = self.failing(bundling, "torch", source, tmp_path)
        with pytest.raises(InvalidInput, match=r"cannot be opened here.*pickled"):
            replay(bundle)
        assert same(replay(bundle, trust=True))

    def test_onnx_with_its_data_in_another_file(
        self, tmp_path: Path, bundling: SimpleNamespace
    ) -> None:
        import onnx
        from onnx import helper, numpy_helper

        weight = np.arange(300, dtype=np.float32).reshape(3, 100) / 300
        values = [
            helper.make_tensor_value_info(name, 1, shape)
            for name, shape in (("x", (2, 3)), ("y", (2, 100)))
        ]
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            "g",
            values[:1],
            values[1:],
            [numpy_helper.from_array(weight, "w")],
        )
        opsets = [helper.make_opsetid("", 13)]
        path = tmp_path / "model.onnx"
        onnx.save(
            helper.make_model(graph, opset_imports=opsets, ir_version=8),
            path,
            save_as_external_data=True,
            location="weights",
            size_threshold=0,
        )
        source = ModelFile("onnx", path, False, [{"x": X}])
        bundle = self.failing(bundling, "onnx", source, tmp_path)
        path.unlink()
        (tmp_path / "weights").unlink()
        assert same(replay(bundle))

    def test_a_file_that_is_too_large_is_looked_for(
        self, onnx_file: Path, tmp_path: Path, bundling: SimpleNamespace
    ) -> None:
        source = ModelFile("onnx", onnx_file, False, [{"x": X}])
        bundle = self.failing(bundling, "onnx", source, tmp_path)
        origin = {"kind": "file", "name": str(onnx_file), "distribution": "", "version": ""}
        take_model(bundle, bundling, {**origin, "file": vars(path_record(onnx_file))})
        assert same(replay(bundle))
        onnx_file.write_bytes(onnx_file.read_bytes()[:-1] + b"z")
        with pytest.raises(InvalidInput, match="no longer the model of the bundle"):
            replay(bundle)
        onnx_file.unlink()
        with pytest.raises(InvalidInput, match="there is no file"):
            replay(bundle)

    def failing(
        self, bundling: SimpleNamespace, framework: str, source: ModelFile, folder: Path
    ) -> Path:
        case = bundling.expecting_too_much(framework, source, f"{framework}/file/x")
        row = bundling.write(case, folder / "made")
        assert (row.stage, row.reason) == (Stage.COMPARE, Reason.WRONG_VALUES), row.message
        return Path(shutil.move(row.bundle, folder / "moved"))


def test_the_files_of_check(tmp_path: Path, tools: Any, bundling: SimpleNamespace) -> None:
    framework = framework_named("onnx")
    (tmp_path / "stored").mkdir()
    framework.store(tools.onnx_model(), tmp_path / "stored", {})
    source = StoredModel("onnx", tmp_path / "stored", {"x": X})
    case = bundling.expecting_too_much("onnx", source, "onnx/in-memory/ModelProto")
    bundle = Path(bundling.write(case, tmp_path / "made").bundle)
    shutil.rmtree(tmp_path / "stored")
    assert same(replay(bundle))


def test_inputs_that_were_made_up_are_the_recorded_ones(
    tmp_path: Path, tools: Any, bundling: SimpleNamespace
) -> None:
    case = bundling.expecting_too_much("onnx", tools.build_of(tools.onnx_model(), {"x": X}))
    wrong = case.reference_outputs[0]
    made_up = Case(
        "onnx/made/up",
        "onnx",
        tools.build_of(tools.onnx_model("Elu", (2, 3))),
        latency=False,
        reference_outputs=(wrong, wrong, wrong),
    )
    row = bundling.write(made_up, tmp_path)
    bundle = read_bundle(Path(row.bundle))
    assert bundle.manifest.made_up
    assert len(bundle.manifest.inputs) == 3
    found = replay(bundle.folder)
    assert same(found)
    assert found.row.message == row.message


def test_a_zoo_s_entry_is_built_again(
    tmp_path: Path, tools: Any, bundling: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = tools.FakeEntry("onnx/zoo/relu", tools.build_of(tools.onnx_model(), {"x": X}))
    zoo = SimpleNamespace(entries=(entry,))
    monkeypatch.setattr("validation.bundles.opening.installed_zoo", lambda: zoo)
    case = bundling.expecting_too_much("onnx", entry.build, entry.id)
    bundle = Path(bundling.write(case, tmp_path).bundle)
    origin = {"kind": "zoo", "name": entry.id, "distribution": "a-zoo", "version": "1.0"}
    take_model(bundle, bundling, {**origin, "file": None})
    assert same(replay(bundle))
    zoo.entries = ()
    with pytest.raises(InvalidInput, match="no zoo that is installed here") as caught:
        replay(bundle)
    assert "--without-model" in str(caught.value)
    assert "a-zoo==1.0" in str(caught.value)
