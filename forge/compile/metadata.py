"""Carry a model's names inside the compiled library, so that one file is enough to run it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from forge.errors import InvalidInput
from forge.specs import TensorSpec

# The attribute of ``main`` in which TVM's torch frontend keeps the bounds that torch.export found.
_LOWER_BOUND = "tir_var_lower_bound"
FUNCTION = "__forge_metadata__"
SCHEMA = 1


@dataclass(frozen=True)
class Metadata:
    """What an executable must know beside its code.

    Attributes:
        inputs: Name, shape and dtype of each input.
        outputs: The same of each output.
        target: The TVM target as text.
        device_kind: What runs it: ``cpu``, ``cuda`` …
        lower_bounds: From what size on the code is right, by symbolic dimension.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    target: str
    device_kind: str
    lower_bounds: dict[str, int] = field(default_factory=dict)


def lower_bounds_of(module: Any) -> dict[str, int]:
    """Read from what size on each symbolic dimension is right, where a loader wrote it down."""
    attributes = module["main"].attrs
    if attributes is None or _LOWER_BOUND not in attributes:
        return {}
    return {str(name): int(bound) for name, bound in attributes[_LOWER_BOUND].items()}


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
        lower_bounds=record["lower_bounds"],
    )


def _specs(items: Sequence[dict[str, Any]]) -> tuple[TensorSpec, ...]:
    return tuple(TensorSpec(item["name"], tuple(item["shape"]), item["dtype"]) for item in items)
