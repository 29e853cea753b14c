"""Run a clone of a Keras model that computes in float64."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from forge import RunError
from forge.loaders.keras import keras_signature
from validation.references.arbiters.graph_double import narrow_operators
from validation.references.arbiters.tensorflow_graph import traced
from validation.references.arbiters.widening import widened
from validation.references.protocol import Session
from validation.references.tensorflow import session_of

_NARROW = re.compile(r"(mixed_)?(b?float16|float32)")


def clone_session(model: Any, signature: Any) -> Session:
    """Make a session of a float64 clone of a model, which itself stays as it was.

    Args:
        model: A ``keras.Model``.
        signature: Its ``forge.prepare.tensorflow.signature.Signature``.

    Raises:
        RunError: A layer computes in float32 whatever its policy, or the weights do not fit.
    """
    own = {
        type(layer).__name__: type(layer)
        for layer in model._flatten_layers()
        if type(layer).__module__.partition(".")[0] != "keras"
    }
    with keras.saving.custom_object_scope(own):
        clone = type(model).from_config(_in_float64(model.get_config()))
    double = _clone_signature(clone, signature)
    _copy_weights(model, clone, double)
    function, _ = traced(double)
    narrow = sorted(narrow_operators(function.graph))
    if narrow:
        raise RunError(f"float32 is left in {', '.join(narrow)}")
    run = session_of(double)
    return lambda inputs: run({name: widened(array) for name, array in inputs.items()})


def _in_float64(config: Any) -> Any:
    """Replace every dtype policy in a configuration, and leave integers as they are."""
    if isinstance(config, list | tuple):
        return type(config)(_in_float64(item) for item in config)
    if not isinstance(config, Mapping):
        return config
    if config.get("class_name") == "DTypePolicy":
        name = str(config.get("config", {}).get("name", ""))
        if _NARROW.fullmatch(name):
            return {**config, "config": {**config["config"], "name": "float64"}}
        return dict(config)
    return {
        key: "float64"
        if key == "dtype" and isinstance(value, str) and _NARROW.fullmatch(value)
        else _in_float64(value)
        for key, value in config.items()
    }


def _clone_signature(clone: Any, signature: Any) -> Any:
    given = {spec.name: spec.shape for spec in signature.inputs}
    double = keras_signature(clone, given)
    if [spec.name for spec in double.inputs] != list(given):
        raise RunError("the clone has other inputs than the model")
    return double


def _copy_weights(model: Any, clone: Any, signature: Any) -> None:
    if not clone.built or len(clone.weights) != len(model.weights):
        shapes = [[d if isinstance(d, int) else 2 for d in spec.shape] for spec in signature.inputs]
        signature.call(
            [np.zeros(s, spec.dtype) for s, spec in zip(shapes, signature.inputs, strict=True)]
        )
    before, after = model.weights, clone.weights
    if [tuple(each.shape) for each in before] != [tuple(each.shape) for each in after]:
        raise RunError("the clone has other weights than the model")
    for own, other in zip(before, after, strict=True):
        other.assign(widened(keras.ops.convert_to_numpy(own)))
