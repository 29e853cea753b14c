from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from validation.bundles.arrays import read_arrays, write_arrays

NAN = np.array([0x7FC01234, 0x7F800000], np.uint32).view(np.float32)
VALUES = np.arange(6).reshape(2, 3)


@pytest.mark.parametrize("array", [
    NAN,
    np.float64(3.5),
    np.zeros((2, 0, 3), np.int8),
    np.asfortranarray(VALUES.astype(np.int64) << 55),
    VALUES.astype(">f4"),
    VALUES[:, ::2],
    np.array(["a", "bcd"]),
    np.array([True, False]),
    VALUES.astype(np.complex64),
    VALUES.astype(ml_dtypes.bfloat16),
    np.asfortranarray(VALUES.astype(ml_dtypes.bfloat16)),
    np.array(1.5, ml_dtypes.bfloat16),
    VALUES.astype(ml_dtypes.float8_e4m3fn),
    VALUES.astype(ml_dtypes.int4),
    np.zeros((0, 2), ml_dtypes.bfloat16),
])  # fmt: skip
def test_arrays_come_back(array: Any, tmp_path: Path, bundling: SimpleNamespace) -> None:
    records = write_arrays(tmp_path / "a.npz", {"x": array})
    back = read_arrays(tmp_path / "a.npz", records)
    # The order of bytes in a file is its own; the values are not.
    assert bundling.same_arrays({"x": np.asarray(array).astype(array.dtype)}, back)
    assert back["x"].flags.writeable


def test_names_and_their_order_come_back(tmp_path: Path, bundling: SimpleNamespace) -> None:
    names = ["file", "", "z", "a/b:0", "../x", "/x", "x\0y", "ü", "array 1", "x.npy", "args", " "]
    arrays = {name: np.array(position) for position, name in enumerate(names)}
    records = write_arrays(tmp_path / "a.npz", arrays)
    assert bundling.same_arrays(arrays, read_arrays(tmp_path / "a.npz", records))


def test_numpy_reads_the_file(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.npz", {"x": VALUES, "serving:0": VALUES + 1})
    with np.load(tmp_path / "a.npz") as archive:
        np.testing.assert_array_equal(archive["serving:0"], VALUES + 1)
        assert archive.files == ["x", "serving:0"]


def test_objects_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="Python objects"):
        write_arrays(tmp_path / "a.npz", {"x": np.array([object()])})


def npy(array: Any, **changes: Any) -> bytes:
    """Make a member, its header changed."""
    header = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape, **changes}
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + array.tobytes()


def archive_of(path: Path, data: bytes, compression: int = zipfile.ZIP_STORED) -> None:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("x.npy", data)


def overlapping(path: Path) -> None:
    """Have a thousand entries of the directory share one member's bytes."""
    archive_of(path, npy(np.zeros(1 << 16, np.uint8)))
    with zipfile.ZipFile(path, "a") as archive:
        archive.filelist *= 1000
        archive._didModify = True


BAD: dict[str, Callable[[Path], None]] = {
    "bomb": lambda p: archive_of(p, npy(np.zeros(1 << 24)), zipfile.ZIP_DEFLATED),
    "overlap": overlapping,
    "huge shape": lambda p: archive_of(p, npy(VALUES, shape=(1 << 40, 3))),
    "other shape": lambda p: archive_of(p, npy(VALUES.reshape(3, 2))),
    "too little": lambda p: archive_of(p, npy(VALUES)[:-1]),
    "too much": lambda p: archive_of(p, npy(VALUES) + b"\0"),
    "pickle": lambda p: archive_of(p, npy(VALUES, descr="|O")),
    "other dtype": lambda p: archive_of(p, npy(VALUES.astype(np.float64))),
    "code": lambda p: archive_of(p, npy(VALUES, descr="__import__('os')")),
    "no npy": lambda p: archive_of(p, b"\x93NUMPY\x01\x00\xff\xff{"),
    "other version": lambda p: archive_of(p, b"\x93NUMPY\x09\x00" + npy(VALUES)[8:]),
    "no zip": lambda p: p.write_bytes(b"PK\5\6" + bytes(5)) and None,
    "empty": lambda p: p.write_bytes(b"") and None,
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_one_error(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    BAD[kind](path)
    with pytest.raises(ValueError, match=r".+"):
        read_arrays(path, [{"name": "x", "dtype": "int64", "shape": [2, 3]}])


@pytest.mark.parametrize("dtype", ["bfloat16", "finfo", "nonsense", "os.system", "float16"])
def test_a_dtype_that_it_is_not(dtype: str, tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.npz", {"x": VALUES})
    with pytest.raises(ValueError, match="dtype"):
        read_arrays(tmp_path / "a.npz", [{"name": "x", "dtype": dtype, "shape": [2, 3]}])


def test_other_numbers_of_arrays(tmp_path: Path) -> None:
    (record,) = write_arrays(tmp_path / "a.npz", {"x": VALUES})
    with pytest.raises(ValueError, match="1 arrays instead of 2"):
        read_arrays(tmp_path / "a.npz", [record, record])
    records = write_arrays(tmp_path / "b.npz", {"x": VALUES, "y": VALUES})
    with pytest.raises(ValueError, match="two arrays of one name"):
        read_arrays(tmp_path / "b.npz", [records[0], records[0]])
