from __future__ import annotations

from pathlib import Path

import cloudpickle
import numpy as np
import onnx
import pytest

from forge import InvalidInput
from validation.bundles.sources import ModelFile, StoredModel
from validation.references import framework_named

X = np.ones((2, 3), np.float32)


def test_a_file_is_opened(onnx_file: Path) -> None:
    source = ModelFile("onnx", onnx_file, samples=({"x": X}, {"x": X + 1}), options={"opset": 13})
    sample = cloudpickle.loads(cloudpickle.dumps(source))()
    assert isinstance(sample.model, onnx.ModelProto)
    np.testing.assert_array_equal(sample.inputs["x"], X)
    np.testing.assert_array_equal(sample.extra_inputs[0]["x"], X + 1)
    assert sample.options == {"opset": 13}
    assert ModelFile("onnx", onnx_file)().inputs is None


def test_an_array_without_a_name_is_the_only_input(onnx_file: Path) -> None:
    assert list(ModelFile("onnx", onnx_file, samples=({"": X},))().inputs or {}) == ["x"]


def test_trust_reaches_the_framework(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(3, 2), tmp_path / "model.pt")
    with pytest.raises(InvalidInput, match="trust"):
        ModelFile("torch", tmp_path / "model.pt")()
    opened = ModelFile("torch", tmp_path / "model.pt", trust=True)()
    assert isinstance(opened.model, torch.nn.Linear)


def test_a_stored_model_is_restored(onnx_file: Path, tmp_path: Path) -> None:
    model = onnx.load(onnx_file)
    framework_named("onnx").store(model, tmp_path, {})
    sample = StoredModel("onnx", tmp_path, {"x": X}, {"opset": 13})()
    assert sample.model == model
    assert sample.inputs is not None
    assert StoredModel("onnx", tmp_path).samples == ()
