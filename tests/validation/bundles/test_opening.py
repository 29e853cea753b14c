"""A bundle's model that would run code of its own is opened with trust only."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import numpy as np
import pytest

from forge import InvalidInput
from validation.bundles.opening import BundledSample, refuse_code
from validation.bundles.parts import path_record
from validation.bundles.reading import read_bundle
from validation.case import BuiltSample, Case
from validation.references import framework_named

X = np.ones((2, 3), np.float32)


@pytest.fixture
def holding(bundle: Path, bundling: SimpleNamespace) -> Callable[..., Path]:
    """Put another model into a bundle, as ``Framework.store`` writes it."""

    def holding(framework: str, *fill: Callable[[Path], Any], kind: str = "stored") -> Path:
        folder = bundle / "model"
        (folder / "model.onnx").unlink()
        for each in fill:
            each(folder)

        def change(manifest: dict[str, Any]) -> None:
            manifest["case"]["framework"] = framework
            manifest["model"] = kind
            del manifest["files"]["model/model.onnx"]
            for file in folder.rglob("*"):
                if file.is_file():
                    name = file.relative_to(bundle).as_posix()
                    manifest["files"][name] = vars(path_record(file))

        bundling.edit_manifest(bundle, change)
        return bundle

    return holding


def refused(bundle: Path, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        BundledSample(bundle)()


def test_a_plain_model_needs_no_trust(bundle: Path) -> None:
    sample = BundledSample(bundle)()
    assert sample.model.graph.name == "tiny"
    assert sample.inputs is not None
    assert list(sample.inputs) == ["x"]


def keras_of(layer: Callable[[Any], Any]) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        keras = pytest.importorskip("keras")
        model = keras.Sequential([keras.Input((3,)), layer(keras)])
        framework_named("keras").store(model, folder, {})

    return fill


def test_a_keras_model_with_a_lambda_layer(holding: Any) -> None:
    bundle = holding("keras", keras_of(lambda keras: keras.layers.Lambda(lambda x: x * 2)))
    refused(bundle, "Lambda")
    assert BundledSample(bundle, trust=True)().model.layers[0].name


def test_a_keras_model_with_classes_of_its_own(holding: Any) -> None:
    def name_class(folder: Path) -> None:
        (folder / "classes.json").write_text(json.dumps([["os", "system"]]))

    bundle = holding("keras", keras_of(lambda keras: keras.layers.Dense(2)), name_class)
    opened = read_bundle(bundle)
    with pytest.raises(InvalidInput, match="classes of its own"):
        refuse_code(opened, trust=False)
    refuse_code(opened, trust=True)


def test_a_graph_that_writes_files(holding: Any, tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    trace = tmp_path / "trace"

    def fill(folder: Path) -> None:
        @tf.function(input_signature=[tf.TensorSpec([2, 3], tf.float32, name="x")])  # type: ignore[untyped-decorator]
        def write(x: Any) -> Any:
            tf.io.write_file(str(trace), "here")
            return x * 2

        framework_named("tensorflow").store(write, folder, {})

    refused(holding("tensorflow", fill), "WriteFile|outside")
    assert not trace.exists()


class Hostile:
    """Leaves a file when it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("name", ["model.pkl", "other.pickle"])
def test_a_pickled_model(name: str, holding: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    bundle = holding("torch", lambda f: (f / name).write_bytes(cloudpickle.dumps(Hostile(trace))))
    refused(bundle, "pickled Python, which runs code")
    assert not trace.exists()


@pytest.mark.parametrize("name", ["model.ts", "model.pt2"])
def test_a_pickle_under_another_name(name: str, holding: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    trace = tmp_path / "trace"
    bundle = holding("torch", lambda folder: torch.save(Hostile(trace), folder / name))
    refused(bundle, r"pickle")
    assert not trace.exists()


def test_a_user_s_file_is_opened_as_such(holding: Any, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    trace = tmp_path / "trace"
    save: Callable[[Path], Any] = lambda f: torch.save(Hostile(trace), f / "model.pt")  # noqa: E731
    refused(holding("torch", save, kind="file"), "trust")
    assert not trace.exists()


def test_a_folder_without_a_model(holding: Any) -> None:
    bundle = holding("onnx", lambda folder: (folder / "notes.txt").write_text("1"))
    refused(bundle, "holds no model of onnx")


def test_a_pickled_case(bundle: Path, bundling: SimpleNamespace) -> None:
    case = Case("onnx/a/b", "onnx", lambda: BuiltSample("a model", {"x": X}))
    (bundle / "case.pkl").write_bytes(cloudpickle.dumps(case))

    def change(manifest: dict[str, Any]) -> None:
        manifest["model"] = ""
        del manifest["files"]["model/model.onnx"]
        manifest["files"]["case.pkl"] = vars(path_record(bundle / "case.pkl"))

    bundling.edit_manifest(bundle, change)
    os.unlink(bundle / "model" / "model.onnx")
    refused(bundle, "the function that builds the model .* pickled Python")
    assert BundledSample(bundle, trust=True)().model == "a model"
