"""Other ways to run a Keras model than by Keras' own eager calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from forge import ForgeError, RunError
from forge.frameworks import require
from validation.references.arbiters.protocol import Arbiter
from validation.references.protocol import Session
from validation.references.tensorflow import limit_threads

NO_FLOAT64 = ""


def arbiters(model: Any, options: Mapping[str, Any], threads: int) -> tuple[Arbiter, ...]:
    """List them: the model compiled by XLA, and a float64 clone of it."""
    return (
        Arbiter("Keras, compiled by XLA", partial(_compiled, model, options, threads)),
        Arbiter(
            "Keras in float64",
            partial(_float64, model, options),
            float64=True,
            own_kernels=False,
        ),
    )


def _compiled(model: Any, options: Mapping[str, Any], threads: int) -> Session:
    require("keras", "compiling a Keras model by XLA")
    from validation.references.arbiters.tensorflow_graph import compiled_session

    limit_threads(threads)
    return compiled_session(_signature(model, options))


def _float64(model: Any, options: Mapping[str, Any]) -> Session:
    """Clone the model in float64; one whose layers name float32 themselves runs as a graph."""
    require("keras", "running a Keras model in float64")
    from validation.references.arbiters.keras_double import clone_session
    from validation.references.arbiters.tensorflow_graph import float64_session

    signature = _signature(model, options)
    try:
        return clone_session(model, signature)
    except Exception as clone:
        try:
            return float64_session(signature)
        except ForgeError as graph:
            reason = " ".join(str(clone).split())[:300]
            raise RunError(f"no float64 clone: {reason}; no float64 graph: {graph}") from graph


def _signature(model: Any, options: Mapping[str, Any]) -> Any:
    from forge.loaders.keras import keras_signature

    return keras_signature(model, options.get("shape_dict"))
