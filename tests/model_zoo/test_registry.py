"""A registry holds each id once."""

from __future__ import annotations

import pytest

from model_zoo import Registry, Sample, UnavailableError


def build_first() -> Sample:
    return Sample(None, {})


def build_second() -> Sample:
    return Sample(None, {})


def test_entries_are_ordered_by_id_and_keep_their_fields() -> None:
    registry = Registry()
    second = registry.register("torch/a/b", "second", suites=("full",), tags=("slow",), rtol=1e-2)
    assert second(build_second) is build_second
    registry.register("onnx/a/b", "first")(build_first)
    first, last = registry.entries()
    assert (first.id, last.id) == ("onnx/a/b", "torch/a/b")
    assert first.build is build_first
    assert (last.suites, last.tags, last.rtol) == (frozenset({"full"}), ("slow",), 1e-2)


def test_an_id_registered_twice_names_both_builders() -> None:
    registry = Registry()
    registry.register("onnx/a/b", "first")(build_first)
    with pytest.raises(ValueError, match=r"build_first.*build_second"):
        registry.register("onnx/a/b", "again")(build_second)
    assert [entry.build for entry in registry.entries()] == [build_first]


def test_a_malformed_entry_is_not_kept() -> None:
    registry = Registry()
    with pytest.raises(ValueError, match="suites"):
        registry.register("onnx/a/b", "first", suites=("weekly",))(build_first)
    with pytest.raises(TypeError, match="colour"):
        registry.register("onnx/a/b", "first", colour="red")(build_first)
    assert registry.entries() == ()


def test_two_registries_do_not_see_each_other() -> None:
    Registry().register("onnx/a/b", "first")(build_first)
    assert Registry().entries() == ()


def test_a_missing_package_makes_an_entry_unavailable() -> None:
    registry = Registry()

    @registry.register("onnx/a/b", "needs much", tags=("requires:no-such-package",))
    def build() -> Sample:
        raise AssertionError("built without its package")

    (entry,) = registry.entries()
    with pytest.raises(UnavailableError, match="pip install no-such-package"):
        entry.build()
