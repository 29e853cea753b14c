"""Other ways to run a TensorFlow model than as its users do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from forge.frameworks import require
from validation.references.arbiters.protocol import Arbiter
from validation.references.protocol import Arrays, Session
from validation.references.tensorflow import TensorFlowFramework, limit_threads

NO_FLOAT64 = ""


def arbiters(model: Any, options: Mapping[str, Any], threads: int) -> tuple[Arbiter, ...]:
    """List them.

    Without its graph optimiser, grappler, TensorFlow still runs the same kernels, and those of
    float64 are mostly instances of the same templates. XLA implements every operator anew.
    A function that no signature has traced yet runs eagerly without grappler; a trace, which is
    all that a SavedModel or a frozen graph holds, stays a graph.
    """
    return (
        Arbiter(
            "TensorFlow without grappler",
            partial(_unoptimised, model, options, threads),
            own_kernels=False,
        ),
        Arbiter("TensorFlow, compiled by XLA", partial(_compiled, model, options, threads)),
        Arbiter(
            "TensorFlow in float64",
            partial(_float64, model, options),
            float64=True,
            own_kernels=False,
        ),
    )


def _unoptimised(model: Any, options: Mapping[str, Any], threads: int) -> Session:
    tf: Any = require("tensorflow", "running a TensorFlow model without optimisations")
    with _without_optimiser(tf):
        session = TensorFlowFramework().session(model, options, threads)

    def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
        with _without_optimiser(tf):
            return session(inputs)

    return run


@contextmanager
def _without_optimiser(tf: Any) -> Iterator[None]:
    """Both settings are the process's: whatever runs next must find its own."""
    options = tf.config.optimizer.get_experimental_options()
    eager = tf.config.functions_run_eagerly()
    tf.config.optimizer.set_experimental_options({**options, "disable_meta_optimizer": True})
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(eager)
        disabled = options.get("disable_meta_optimizer", False)
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": disabled})


def _compiled(model: Any, options: Mapping[str, Any], threads: int) -> Session:
    require("tensorflow", "compiling a TensorFlow model by XLA")
    from validation.references.arbiters.tensorflow_graph import compiled_session

    limit_threads(threads)
    return compiled_session(_signature(model, options))


def _float64(model: Any, options: Mapping[str, Any]) -> Session:
    require("tensorflow", "running a TensorFlow model in float64")
    from validation.references.arbiters.tensorflow_graph import float64_session

    return float64_session(_signature(model, options))


def _signature(model: Any, options: Mapping[str, Any]) -> Any:
    from forge.prepare.tensorflow.entry_points import signature_of

    return signature_of(
        model, options.get("shape_dict"), options.get("outputs"), options.get("signature")
    )
