"""The model zoo: what Forge is checked with.

``entries`` is what the entry point group ``forge.zoo`` names; a zoo of one's own is a
``Registry``, or any function that returns such entries.
"""

from __future__ import annotations

import importlib

from model_zoo.entry import Entry, Sample, Source, UnavailableError
from model_zoo.registry import Registry, registry

__all__ = ["Entry", "Registry", "Sample", "Source", "UnavailableError", "entries"]

_MODULES = (
    "onnx_built",
    "onnx_guide",
    "onnx_trained",
    "torch_built",
    "torch_trained",
    "tensorflow_built",
    "tensorflow_trained",
    "keras_built",
    "keras_trained",
    "tflite_built",
    "tflite_trained",
)


def entries() -> tuple[Entry, ...]:
    """List every entry of Forge's own zoo, ordered by id, importing no framework."""
    for module in _MODULES:
        importlib.import_module(f"model_zoo.models.{module}")
    return registry.entries()
