from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.bundles.manifest import Origin
from validation.bundles.models import HeldModel, add_model, file_name, zoo_origin
from validation.bundles.parts import Parts, path_record
from validation.bundles.sources import ModelFile, StoredModel
from validation.case import BuiltSample, Case
from validation.references import framework_named
from validation.trial import Trial

ZOO = Origin("zoo", "onnx/a/b", "some-zoo", "1.0")


def build() -> Any:
    raise AssertionError("nobody builds it")


@pytest.fixture
def add(tmp_path: Path) -> Callable[..., tuple[HeldModel, Parts]]:
    """Add the model of a case to an empty bundle."""
    (tmp_path / "bundle").mkdir()

    def add(
        framework: str,
        build: Any,
        model: Any = None,
        origin: Origin | None = None,
        limit: int = 1 << 20,
    ) -> tuple[HeldModel, Parts]:
        sample = None if model is None else BuiltSample(model)
        trial = Trial(
            Case(f"{framework}/a/b", framework, build), "llvm", framework_named(framework), sample
        )
        parts = Parts(tmp_path / "bundle", limit)
        return add_model(trial, parts, origin), parts

    return add


def test_a_model_in_memory_is_stored(add: Any, tools: SimpleNamespace) -> None:
    held, parts = add("onnx", build, tools.onnx_model())
    assert held == HeldModel("stored")
    assert set(parts.files) == {"model/model.onnx"}


def test_a_zoo_s_model_is_stored_as_well(add: Any, tools: SimpleNamespace) -> None:
    held, parts = add("onnx", build, tools.onnx_model(), ZOO)
    assert held == HeldModel("stored", origin=ZOO)
    assert set(parts.files) == {"model/model.onnx"}
    held, parts = add("onnx", build, None, ZOO)
    assert held == HeldModel(origin=ZOO)
    assert not parts.files


def test_a_file_is_copied_as_it_is(add: Any, tmp_path: Path) -> None:
    file = tmp_path / "network.TFLITE"
    file.write_bytes(b"what no interpreter can read")
    held, parts = add("tflite", ModelFile("tflite", file, trust=True))
    assert held == HeldModel("file", trusted=True)
    assert parts.files == {"model/model.TFLITE": path_record(file)}


def test_the_folder_of_a_saved_model_is_copied(add: Any, tmp_path: Path) -> None:
    folder = tmp_path / "my model"
    (folder / "variables").mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"1")
    (folder / "variables" / "v").write_bytes(b"2")
    held, parts = add("tensorflow", ModelFile("tensorflow", folder))
    assert held == HeldModel("file")
    assert set(parts.files) == {"model/model/saved_model.pb", "model/model/variables/v"}


def test_an_onnx_file_is_stored_with_its_external_data(
    add: Any, onnx_file: Path, tools: SimpleNamespace
) -> None:
    held, parts = add("onnx", ModelFile("onnx", onnx_file), tools.onnx_model())
    assert held == HeldModel("stored")
    assert set(parts.files) == {"model/model.onnx"}


def test_an_onnx_file_that_could_not_be_opened_is_copied(add: Any, onnx_file: Path) -> None:
    held, parts = add("onnx", ModelFile("onnx", onnx_file))
    assert held == HeldModel("file")
    assert parts.files == {"model/model.onnx": path_record(onnx_file)}


def test_what_another_process_stored_is_copied(add: Any, tmp_path: Path) -> None:
    (tmp_path / "stored").mkdir()
    (tmp_path / "stored" / "model.onnx").write_bytes(b"broken")
    held, parts = add("onnx", StoredModel("onnx", tmp_path / "stored"))
    assert held == HeldModel("stored")
    assert set(parts.files) == {"model/model.onnx"}


def test_a_file_that_is_too_large_is_named(add: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.tflite"
    file.write_bytes(bytes(1000))
    held, parts = add("tflite", ModelFile("tflite", file), limit=100)
    assert held.model == ""
    assert held.origin == Origin("file", str(file), file=path_record(file))
    assert "beyond" in parts.left_out["model/model.tflite"]


@pytest.mark.parametrize("sample", [False, True])
def test_a_case_is_pickled_where_its_model_cannot_be_stored(
    add: Any, sample: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def store(*arguments: Any) -> None:
        raise ValueError("not this one")

    monkeypatch.setattr("validation.references.onnx.ONNXFramework.store", store)
    held, parts = add("onnx", lambda: None, "a model" if sample else None)
    assert held == HeldModel()
    assert set(parts.files) == {"case.pkl"}
    assert ("not this one" in parts.left_out.get("model", "")) == sample


class TestOrigin:
    def test_an_entry_of_ours(self) -> None:
        from model_zoo import entries

        entry = next(each for each in entries() if each.framework == "onnx")
        found = zoo_origin(Case(entry.id, "onnx", entry.build))
        assert found is not None
        assert (found.kind, found.name) == ("zoo", entry.id)
        assert found.distribution == "forge-validation"
        assert found.version

    def test_another_model_under_the_id_of_an_entry(self) -> None:
        from model_zoo import entries

        entry = next(each for each in entries() if each.framework == "onnx")
        for other in (build, lambda: None, partial(build), print):
            assert zoo_origin(Case(entry.id, "onnx", other)) is None

    def test_a_zoo_that_cannot_be_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def load() -> None:
            raise ImportError("broken")

        points = [SimpleNamespace(load=load, dist=None)]
        monkeypatch.setattr("validation.bundles.models.metadata.entry_points", lambda group: points)
        assert zoo_origin(Case("onnx/a/b", "onnx", build)) is None


@pytest.mark.parametrize(("path", "name"), [
    ("/a/My Model.onnx", "model.onnx"),
    ("/a/model.KERAS", "model.KERAS"),
    ("/a/.onnx", "model"),
    ("/a/model", "model"),
    ("/a/model.o;rm", "model"),
    ("/a/model.ü", "model"),
])  # fmt: skip
def test_the_name_of_a_copy(path: str, name: str) -> None:
    assert file_name(Path(path)) == name
