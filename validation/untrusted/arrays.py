"""Read arrays by name from a stranger's ``.npz`` file."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import TYPE_CHECKING

from forge import InvalidInput
from validation.untrusted.archives import check_archive, read_member

if TYPE_CHECKING:
    import numpy as np

_HEADER = 16 << 10


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file, executing nothing in it.

    Raises:
        InvalidInput: It is missing, no such file, holds Python objects, or would unpack to far
            more than it stores.
    """
    try:
        return {
            member.filename.removesuffix(".npy"): _array(
                read_member(path, member.filename, member.file_size)
            )
            for member in check_archive(path)
        }
    except InvalidInput as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be read as named arrays: {error.message}",
            hint="write it with numpy.savez(path, input0=array, …)",
        ) from error
    except Exception as error:  # each of numpy, tokenize and ast has errors of its own
        raise InvalidInput(
            f"{str(path)!r} cannot be read as named arrays: {type(error).__name__}: {error}",
            hint="write it with numpy.savez(path, input0=array, …)",
        ) from error


def _array(content: bytes) -> np.ndarray:
    """Read one array; its header is held against the data before numpy makes room for it."""
    import numpy as np

    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        # Version 3 has field names outside latin-1; arrays of a model have no fields.
        raise ValueError(f"the array has format {version}, expected (1, 0) or (2, 0)")
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(stream, max_header_size=_HEADER)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which would run code when they are read")
    wanted = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or wanted != len(content) - stream.tell():
        raise ValueError(
            f"the array declares {dtype} {shape} and holds {len(content) - stream.tell()} bytes"
        )
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
