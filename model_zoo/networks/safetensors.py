"""Read weights in the safetensors format."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import torch

_DTYPES = {"F32": np.float32, "I64": np.int64}


def read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    """Read a safetensors file: a length, a JSON index, then the tensors' bytes.

    Raises:
        ValueError: A tensor has a dtype other than float32 and int64.
    """
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    start = 8 + length
    tensors = {}
    for name, record in json.loads(content[8:start]).items():
        if name == "__metadata__":
            continue
        if record["dtype"] not in _DTYPES:
            raise ValueError(f"{path.name}: tensor {name} has dtype {record['dtype']}")
        begin, end = record["data_offsets"]
        values = np.frombuffer(content[start + begin : start + end], _DTYPES[record["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(record["shape"]).copy())
    return tensors
