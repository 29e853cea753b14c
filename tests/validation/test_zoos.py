from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forge import InvalidInput
from validation import zoos
from validation.zoos import installed_zoo, nearest, select

Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Install:
    """Install modules as zoos: their names, and the text of each."""

    def install(**modules: str) -> None:
        monkeypatch.syspath_prepend(str(tmp_path))
        points = []
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
            monkeypatch.delitem(sys.modules, name, raising=False)
            points.append(metadata.EntryPoint(name, f"{name}:entries", zoos.GROUP))
        monkeypatch.setattr(metadata, "entry_points", lambda group: points)

    return install


ZOO = """
from types import SimpleNamespace
def entries():
    return [SimpleNamespace(id=name) for name in {names}]
"""


@pytest.fixture
def entries(tools: SimpleNamespace) -> list[Any]:
    return [
        tools.FakeEntry("onnx/resnet/18", None, frozenset({"smoke", "full"})),
        tools.FakeEntry("onnx/bert/base", None, frozenset({"full"})),
        tools.FakeEntry("torch/resnet/18", None, frozenset({"smoke"})),
    ]


def ids(entries: list[Any]) -> list[str]:
    return [entry.id for entry in entries]


class TestInstalled:
    def test_our_own_zoo_is_found(self) -> None:
        zoo = installed_zoo()
        assert len(zoo.entries) >= 20
        assert ids(list(zoo.entries)) == sorted(set(ids(list(zoo.entries))))

    def test_zoos_are_joined_and_their_expectations_found(
        self, install: Install, tmp_path: Path
    ) -> None:
        install(zoo_b=ZOO.format(names=["onnx/a/b"]), zoo_a=ZOO.format(names=["torch/a/b"]))
        (tmp_path / "expectations.toml").write_text("schema = 1")
        zoo = installed_zoo()
        assert ids(list(zoo.entries)) == ["onnx/a/b", "torch/a/b"]
        assert zoo.expectation_files == (tmp_path / "expectations.toml",)

    def test_one_id_in_two_zoos(self, install: Install) -> None:
        install(zoo_a=ZOO.format(names=["onnx/a/b"]), zoo_b=ZOO.format(names=["onnx/a/b"]))
        with pytest.raises(InvalidInput, match="onnx/a/b"):
            installed_zoo()

    @pytest.mark.parametrize("text", ["import nothing_of_that_name", "1 / 0", "other = 1",
                                      "def entries(): raise OSError('gone')"])  # fmt: skip
    def test_a_broken_zoo_is_named(self, install: Install, text: str) -> None:
        install(broken=text)
        with pytest.raises(InvalidInput, match="'broken'"):
            installed_zoo()


class TestSelect:
    def test_everything(self, entries: list[Any]) -> None:
        assert select(entries) == entries

    def test_by_suite_framework_and_pattern(self, entries: list[Any]) -> None:
        assert ids(select(entries, suite="smoke")) == ["onnx/resnet/18", "torch/resnet/18"]
        assert ids(select(entries, frameworks=["torch"])) == ["torch/resnet/18"]
        assert ids(select(entries, patterns=["*/resnet/??"])) == [
            "onnx/resnet/18", "torch/resnet/18",
        ]  # fmt: skip
        assert ids(select(entries, suite="full", patterns=["onnx/*"])) == [
            "onnx/resnet/18", "onnx/bert/base",
        ]  # fmt: skip

    def test_a_pattern_that_matches_nothing(self, entries: list[Any]) -> None:
        with pytest.raises(InvalidInput) as caught:
            select(entries, patterns=["onnx/*", "onnx/resnet/19"])
        assert "'onnx/resnet/19'" in caught.value.message
        assert "onnx/resnet/18" in str(caught.value.hint)

    def test_a_suite_that_nothing_is_in(self, entries: list[Any]) -> None:
        with pytest.raises(InvalidInput, match="'smok'") as caught:
            select(entries, suite="smok")
        assert "full, smoke" in str(caught.value.hint)


def test_nearest_without_anything_near() -> None:
    assert "forge zoo" in nearest("xyz", ["onnx/a/b"])
