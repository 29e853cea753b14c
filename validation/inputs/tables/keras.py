"""Tables of a Keras model: its Embedding layers, and all else that gathers rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from validation.inputs.tables.tensorflow import sizes_of


def table_sizes(model: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """See ``validation.inputs.tables``.

    Where no layer is found to index anything, the smallest Embedding layer is taken for all
    integer inputs. An Embedding layer takes floating-point inputs too, and truncates them.
    """
    from forge.loaders.keras import keras_signature

    signature = keras_signature(model, options.get("shape_dict"))
    layers = [layer for layer in model._flatten_layers() if hasattr(layer, "input_dim")]
    rows = [int(layer.input_dim) for layer in layers if type(layer).__name__ == "Embedding"]
    integers = [spec.name for spec in signature.inputs if np.dtype(spec.dtype).kind in "iu"]
    if not rows and not integers:
        return {}
    try:
        found = sizes_of(signature)
    except Exception:
        found = {}
    return found or {name: min(rows) for name in integers if rows}
