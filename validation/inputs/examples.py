"""Read example inputs and expected outputs from numpy's files, executing nothing in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from forge import InvalidInput
from validation.untrusted.archives import is_archive
from validation.untrusted.arrays import read_npz

# Under this name stands the array of an .npy file, which has none, until ``named`` gives it one.
UNNAMED = ""


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file by name, or the one of an ``.npy`` file, unnamed.

    Raises:
        InvalidInput: It is missing, no such file, or holds Python objects.
    """
    try:
        if is_archive(path):
            return read_npz(path)
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return {UNNAMED: content}
            return {name: content[name] for name in content.files}
    except InvalidInput:
        raise
    except Exception as error:  # each of numpy, zipfile, zlib and ast has errors of its own
        raise InvalidInput(
            f"{str(path)!r} cannot be read as named arrays: {error}",
            hint="write it with numpy.savez(path, input0=array, …), or for a single one with "
            "numpy.save(path, array)",
        ) from error


def named(
    arrays: Mapping[str, np.ndarray], names: Sequence[str], what: str = "input"
) -> dict[str, np.ndarray]:
    """Give the array of an ``.npy`` file the one name that the model has for it.

    Args:
        arrays: What ``read_arrays`` gave; returned as it is where all of it is named.
        names: The model's inputs, or outputs.
        what: Which of the two, for the error message.

    Raises:
        InvalidInput: The model has several, so nothing tells which one it is.
    """
    if UNNAMED not in arrays:
        return dict(arrays)
    if len(names) != 1:
        raise InvalidInput(
            f"an .npy file holds one array, and the model has {len(names)} {what}s: "
            f"{', '.join(names) or 'none'}.",
            hint="write them by name with numpy.savez(path, name=array, …)",
        )
    return {names[0]: arrays[UNNAMED]}
