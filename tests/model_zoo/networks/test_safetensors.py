"""Reading the safetensors format."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks.safetensors import read_safetensors  # noqa: E402


def write(path: Path, index: dict[str, Any], content: bytes) -> Path:
    header = json.dumps(index).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + content)
    return path


def test_tensors_come_with_their_names_shapes_and_dtypes(tmp_path: Path) -> None:
    weights = np.arange(6, dtype=np.float32).reshape(2, 3) / 7
    ids = np.array([2**53 + 1, -1], np.int64)
    index = {
        "__metadata__": {"format": "pt"},
        "ids": {"dtype": "I64", "shape": [2], "data_offsets": [24, 40]},
        "weights": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
    }
    path = write(tmp_path / "a.safetensors", index, weights.tobytes() + ids.tobytes())
    tensors = read_safetensors(path)
    assert list(tensors) == ["ids", "weights"]
    np.testing.assert_array_equal(tensors["weights"].numpy(), weights)
    np.testing.assert_array_equal(tensors["ids"].numpy(), ids)
    assert tensors["ids"].dtype == torch.int64
    tensors["weights"].zero_()


def test_another_dtype_is_refused_by_name(tmp_path: Path) -> None:
    index = {"half": {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}}
    path = write(tmp_path / "a.safetensors", index, b"\0\0")
    with pytest.raises(ValueError, match="half has dtype F16"):
        read_safetensors(path)


def test_a_file_that_ends_too_early_is_refused(tmp_path: Path) -> None:
    index = {"weights": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    with pytest.raises(ValueError, match="reshape"):
        read_safetensors(write(tmp_path / "a.safetensors", index, b"\0\0\0\0"))
