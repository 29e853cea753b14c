from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from forge import InvalidInput
from validation.inputs.examples import UNNAMED, named, read_arrays

A = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_arrays_by_name(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", b=A, a=A + 1)
    arrays = read_arrays(tmp_path / "x.npz")
    assert list(arrays) == ["b", "a"]
    np.testing.assert_array_equal(arrays["a"], A + 1)


def test_a_single_array_has_no_name_until_the_model_gives_one(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", A)
    arrays = read_arrays(tmp_path / "x.npy")
    assert list(arrays) == [UNNAMED]
    np.testing.assert_array_equal(named(arrays, ["image"])["image"], A)


def test_several_inputs_need_names(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="2 inputs: a, b") as caught:
        named({UNNAMED: A}, ["a", "b"])
    assert "numpy.savez" in str(caught.value.hint)
    with pytest.raises(InvalidInput, match="0 outputs: none"):
        named({UNNAMED: A}, [], "output")


def test_named_arrays_stay_as_they_are() -> None:
    assert named({"z": A}, ["a", "b"])["z"] is A


@pytest.mark.parametrize("name", ["x.npz", "x.npy"])
def test_files_that_are_none(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with pytest.raises(InvalidInput, match=name):
        read_arrays(path)
    for content in (
        b"",
        b"no arrays at all",
        b"PK\x03\x04cut",
        b"\x93NUMPY\x01\x00\x10\x00{'descr'",
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=name):
            read_arrays(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(InvalidInput, match=name):
        read_arrays(path)


def test_python_objects_are_refused(tmp_path: Path) -> None:
    objects = np.array([Path(), "a"], object)
    np.save(tmp_path / "x.npy", objects)
    np.savez(tmp_path / "x.npz", x=objects)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(InvalidInput, match=name):
            read_arrays(tmp_path / name)
