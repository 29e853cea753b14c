"""Carry a model's names inside the compiled library, so that one file is enough to run it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from forge.errors import InvalidInput
from forge.specs import TensorSpec

FUNCTION = "__forge_metadata__"
SCHEMA = 1


@dataclass(frozen=True)
class Metadata:
    """What an executable must know beside its code."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    target: str
    device_kind: str


def attach(module: Any, metadata: Metadata) -> Any:
    """Add a Relax function that returns the metadata as the bytes of a JSON text."""
    from tvm import relax

    from forge import _tvm

    text = json.dumps({"schema": SCHEMA, **asdict(metadata)})
    constant = _tvm.constant(np.frombuffer(text.encode(), dtype=np.uint8))
    builder = relax.BlockBuilder(module)
    with builder.function(FUNCTION, []):
        with builder.dataflow():
            result = builder.emit_output(constant)
        builder.emit_func_output(result)
    return builder.get()


def read(machine: Any) -> Metadata:
    """Read the metadata of a library through its virtual machine.

    Raises:
        InvalidInput: It has a newer schema.
        KeyError, ValueError: It is not a library of Forge's.
    """
    record = json.loads(machine[FUNCTION]().numpy().tobytes())
    if record["schema"] != SCHEMA:
        raise InvalidInput(f"the library has schema {record['schema']}, this Forge reads {SCHEMA}.")
    return Metadata(
        inputs=_specs(record["inputs"]),
        outputs=_specs(record["outputs"]),
        target=record["target"],
        device_kind=record["device_kind"],
    )


def _specs(items: Sequence[dict[str, Any]]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(item["name"], tuple(item["shape"]), item["dtype"]) for item in items)
