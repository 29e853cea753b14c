"""Write named arrays to an ``.npz`` file that comes back exactly, bfloat16 and its kind included.

``numpy.load`` reads the file too. The names, dtypes and shapes stand in a record beside it: a zip
member's name cannot be any text, and numpy's format does not know the dtypes of ml_dtypes, which
are stored as unsigned integers of their size.
"""

from __future__ import annotations

import importlib
import io
import math
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
_MEMBER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/ -]*")


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray]) -> list[Record]:
    """Write arrays to a new file and give the record that ``read_arrays`` needs.

    Raises:
        ValueError: An array of Python objects.
        OSError: The file cannot be written.
    """
    records: list[Record] = []
    members: set[str] = set()
    with zipfile.ZipFile(path, "x", zipfile.ZIP_STORED) as archive:
        for position, (name, value) in enumerate(arrays.items()):
            array = np.asarray(value)
            if array.dtype.hasobject:
                raise ValueError(f"{name!r} is an array of Python objects")
            member = name if _is_member(name) and name not in members else f"array {position}"
            members.add(member)
            with archive.open(f"{member}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, _known_to_numpy(array), allow_pickle=False)
            records.append({"name": name, "dtype": array.dtype.name, "shape": list(array.shape)})
    return records


def read_arrays(path: Path, records: Sequence[Record]) -> dict[str, np.ndarray]:
    """Read what ``write_arrays`` wrote, executing nothing and allocating no more than the file.

    Raises:
        ValueError: Not such a file, or not the arrays of the record.
        OSError: It cannot be read.
    """
    arrays: dict[str, np.ndarray] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            if len(members) != len(records):
                raise ValueError(f"{len(members)} arrays instead of {len(records)}")
            # Uncompressed members that overlap nowhere cannot hold more than the file.
            stored = all(each.compress_type == zipfile.ZIP_STORED for each in members)
            if not stored or sum(each.file_size for each in members) > path.stat().st_size:
                raise ValueError("its members are compressed, or overlap")
            for member, record in zip(members, records):
                arrays[record["name"]] = _parsed(archive.read(member), record)
        if len(arrays) != len(records):
            raise ValueError("two arrays of one name")
    except OSError:
        raise
    except Exception as error:  # zipfile, struct, ast and tokenize have errors of their own
        raise ValueError(f"{type(error).__name__}: {error}") from error
    return arrays


def _is_member(name: str) -> bool:
    return bool(_MEMBER.fullmatch(name)) and ".." not in name and "//" not in name


def _known_to_numpy(array: np.ndarray) -> np.ndarray:
    if array.dtype.fields is None and np.dtype(array.dtype.str) != array.dtype:
        return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)
    return array


def _parsed(data: bytes, record: Record) -> np.ndarray:
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    elif version == (2, 0):
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(stream)
    else:
        raise ValueError(f"version {version} of numpy's format")
    if dtype.hasobject:
        raise ValueError("an array of Python objects")
    if list(shape) != record["shape"]:
        raise ValueError(f"shape {list(shape)} instead of {record['shape']}")
    if math.prod(shape) * dtype.itemsize != len(data) - stream.tell():
        raise ValueError("more or less data than its shape says")
    array = np.frombuffer(data, dtype, offset=stream.tell()) if math.prod(shape) else None
    if array is None:
        array = np.empty(shape, dtype)
    array = array.reshape(shape, order="F" if fortran else "C").copy()
    if dtype.name == record["dtype"]:
        return array
    return array.view(_extended(record["dtype"], dtype))


def _extended(name: Any, stored: np.dtype) -> np.dtype:
    if isinstance(name, str) and name.isidentifier() and stored.kind == "u":
        module = importlib.import_module("ml_dtypes")
        found = getattr(module, name, None)
        if isinstance(found, type) and np.dtype(found).itemsize == stored.itemsize:
            return np.dtype(found)
    raise ValueError(f"dtype {stored.name} instead of {name}")
