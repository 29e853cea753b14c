"""Convert a concrete function to TFLite."""

from __future__ import annotations

import re
from typing import Any

from forge.errors import LoadError
from forge.frameworks import require
from forge.prepare.tensorflow.quiet import quiet


def to_tflite(function: Any) -> bytes:
    """Convert without a trackable object, which is what keeps order and freezes variables.

    With one, or through ``from_keras_model`` and ``from_saved_model``, TensorFlow 2.21 permutes
    several inputs and outputs and can leave weights in resource variables.

    Raises:
        LoadError: The function holds operators that TFLite has not.
    """
    tf: Any = require("tensorflow", "forge.from_tensorflow")
    try:
        with quiet():
            converter = tf.lite.TFLiteConverter.from_concrete_functions([function])
            return bytes(converter.convert())
    except Exception as error:
        raise LoadError(f"TensorFlow's TFLite converter failed: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    text = str(error)
    # The converter lists what it cannot lower after this heading, as "tf.Name(tensor<…>) -> …".
    _, found, details = text.partition("Details:")
    lacking = sorted(set(re.findall(r"\btf\.([A-Z]\w+)", details))) if found else []
    if lacking:
        return f"no TFLite operator for {', '.join(lacking)}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = next((line for line in lines if "error:" in line), lines[0] if lines else "")
    return f"{type(error).__name__}: {line[:300]}"
