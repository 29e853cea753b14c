"""Run the graph of a TensorFlow or Keras model: compiled by XLA, or in float64."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from validation.references.arbiters.graph_double import float64_function
from validation.references.arbiters.widening import widened
from validation.references.protocol import Arrays, Session


def compiled_session(signature: Any) -> Session:
    """Make a session of a model compiled by XLA.

    Args:
        signature: The model's ``forge.prepare.tensorflow.signature.Signature``.
    """
    function, names = traced(signature, compiled=True)
    return _session(signature, lambda tensors: function(*tensors), names, np.asarray)


def float64_session(signature: Any) -> Session:
    """Make a session of a model's graph in float64.

    Args:
        signature: The model's ``forge.prepare.tensorflow.signature.Signature``.

    Raises:
        forge.UnsupportedOperator: Operators that have no float64 form, all of them.
    """
    function, names = traced(signature)
    return _session(signature, float64_function(function), names, widened)


def traced(signature: Any, compiled: bool = False) -> tuple[Any, list[str]]:
    """Trace a model with flat inputs and outputs, and give its outputs' names as well."""
    names: list[str] = []

    def flat(*tensors: Any) -> Any:
        named = signature.name_outputs(signature.call(tensors))
        names[:] = [name for name, _ in named]
        # An output that is an input as well would be lost when the graph is pruned.
        return [tf.identity(value) for _, value in named]

    specs = [
        tf.TensorSpec(
            [dim if isinstance(dim, int) else None for dim in spec.shape],
            tf.as_dtype(spec.dtype),
            name=f"arbiter_{position}",
        )
        for position, spec in enumerate(signature.inputs)
    ]
    function = tf.function(flat, autograph=False, jit_compile=compiled or None)
    return function.get_concrete_function(*specs), list(names)


def _session(
    signature: Any,
    function: Callable[[Sequence[Any]], Sequence[Any]],
    names: Sequence[str],
    convert: Callable[[np.ndarray], np.ndarray],
) -> Session:
    def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
        results = function([tf.constant(convert(inputs[s.name])) for s in signature.inputs])
        return {name: np.asarray(value) for name, value in zip(names, results, strict=True)}

    return run
