"""Look through a stranger's HDF5 file before Keras reads weights from it.

HDF5 can put a dataset's values into another file, name groups of other files, and declare arrays of
any size without storing them; libraries that read it follow all of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from forge import InvalidInput
from forge.frameworks import require
from validation.untrusted.files import check_growth

_MOST_OBJECTS = 200_000
# deflate, shuffle, fletcher32, szip, n-bit, scale-offset and h5py's own lzf: what the library
# brings along. For any other it would look for a plugin to load.
_FILTERS = frozenset({1, 2, 3, 4, 5, 6, 32000})


def read_attribute(source: Path | BinaryIO, name: str, where: str) -> Any:
    """Read an attribute of the file's root; None where it has none.

    Raises:
        InvalidInput: It is no HDF5 file.
    """
    h5py: Any = require("h5py", "opening a Keras .h5 model")
    try:
        with h5py.File(source, "r") as file:
            return file.attrs.get(name)
    except Exception as error:
        raise InvalidInput(
            f"{where} is no HDF5 file that can be read: {type(error).__name__}: {error}",
            hint="is the file whole?",
        ) from error


def check_hdf5(source: Path | BinaryIO, size: int, where: str) -> None:
    """Check that a file keeps its data in itself, and declares no more than it has.

    Args:
        source: A path, or a file in memory.
        size: Bytes that it has.
        where: Its name, for the error.

    Raises:
        InvalidInput: It is no HDF5 file; or it has links or data in other files, filters that
            are loaded as code, or datasets far larger than the file.
    """
    h5py: Any = require("h5py", "opening a Keras .h5 model")
    declared = 0
    try:
        with h5py.File(source, "r") as file:
            for name, item in _objects(h5py, file, where):
                if not isinstance(item, h5py.Dataset):
                    continue
                _check_dataset(h5py, item, f"{where}: {name}")
                declared += math.prod(item.shape or ()) * item.dtype.itemsize
                check_growth(declared, size, where)
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"{where} is no HDF5 file that can be read: {type(error).__name__}: {error}",
            hint="is the file whole?",
        ) from error


def _objects(h5py: Any, file: Any, where: str) -> Iterator[tuple[str, Any]]:
    """List groups and datasets, each once however many names it has."""
    pending: list[tuple[str, Any]] = [("/", file["/"])]
    seen: set[int] = set()
    while pending:
        name, item = pending.pop()
        address = h5py.h5o.get_info(item.id).addr
        if address in seen:
            continue
        seen.add(address)
        if len(seen) > _MOST_OBJECTS:
            raise InvalidInput(f"{where} holds more than {_MOST_OBJECTS} groups and datasets.")
        yield name, item
        if not isinstance(item, h5py.Group):
            continue
        for key in item:
            link = item.get(key, getlink=True)
            if isinstance(link, h5py.ExternalLink):
                raise InvalidInput(
                    f"{where} links {name}{key} to another file, {link.filename!r}.",
                    hint="save the model again into one file",
                )
            if isinstance(link, h5py.HardLink):
                pending.append((f"{name}{key}/", item[key]))


def _check_dataset(h5py: Any, dataset: Any, where: str) -> None:
    if dataset.external or dataset.is_virtual:
        raise InvalidInput(
            f"{where} has its values in another file.", hint="save the model again into one file"
        )
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(index)[0] for index in range(properties.get_nfilters())}
    if filters - _FILTERS:
        raise InvalidInput(
            f"{where} is packed by the filter {min(filters - _FILTERS)}, for which HDF5 would load "
            "a plugin.",
            hint="save the model again without compression",
        )
