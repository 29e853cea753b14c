"""Find out how many rows integer inputs choose from, such as the size of a vocabulary."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

_FRAMEWORKS = ("onnx", "torch", "tensorflow", "keras", "tflite")


def integer_limits(framework: str, model: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """Give, by input name, the number of rows of the smallest table that an integer input indexes.

    It is best effort: what cannot be read is left out, and no error is raised.

    Args:
        framework: Whose model it is.
        model: The model in memory; it is left as it was.
        options: Keyword arguments of the framework's loader.
    """
    if framework not in _FRAMEWORKS:
        return {}
    try:
        reader = importlib.import_module(f"validation.inputs.tables.{framework}")
        found: Mapping[str, int] = reader.table_sizes(model, options)
        return {str(name): int(size) for name, size in found.items() if size > 0}
    except Exception:
        return {}
