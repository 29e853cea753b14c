"""Find out how a TensorFlow object is called."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from forge.errors import InvalidInput
from forge.frameworks import is_instance_of, require
from forge.prepare.tensorflow.graph_def import graph_def_signature
from forge.prepare.tensorflow.signature import (
    Named,
    Signature,
    dims_of,
    distinct,
    name_structure,
)
from forge.specs import Dim, TensorSpec

_LOADER = "from_tensorflow"


def signature_of(
    model: Any,
    shape_dict: Mapping[str, Sequence[Dim]] | None,
    outputs: Sequence[str] | None,
    signature: str | None,
) -> Signature:
    """Describe what a TensorFlow object takes and gives, and how to call it.

    Raises:
        InvalidInput: Not such an object, several signatures and none chosen, inputs that
            cannot be known without ``shape_dict``, or ``outputs`` where they do not belong.
    """
    _check_type(model)
    if is_instance_of(model, "tensorflow", "GraphDef"):
        if signature is not None:
            raise InvalidInput(
                f"signature={signature!r} was given with a GraphDef, which has no signatures.",
                hint="outputs=[…] says what a GraphDef gives back",
            )
        return graph_def_signature(model, outputs).with_shapes(shape_dict, _LOADER)
    if outputs is not None:
        raise InvalidInput(
            "outputs was given with a model that says itself what it gives back.",
            hint="outputs belongs to a frozen GraphDef",
        )
    function = _chosen(model, signature)
    concrete = _concrete(function)
    if concrete is None:
        return _from_shapes(function, shape_dict)
    return _from_concrete(concrete).with_shapes(shape_dict, _LOADER)


def _check_type(model: Any) -> None:
    if isinstance(model, str | PathLike):
        raise InvalidInput(
            f"from_tensorflow takes a model in memory, not the path {str(model)!r}.",
            hint="tf.saved_model.load(folder) opens a SavedModel",
        )
    if is_instance_of(model, "keras", "Model"):
        raise InvalidInput(
            "from_tensorflow was given a Keras model.", hint="forge.from_keras(model) loads it"
        )
    if is_instance_of(model, "tensorflow", "Graph", "MetaGraphDef", "SavedModel"):
        raise InvalidInput(
            f"from_tensorflow was given a {type(model).__name__}.",
            hint="give graph.as_graph_def() of a frozen graph, with outputs=[…]",
        )
    known = (
        is_instance_of(model, "tensorflow", "GraphDef", "Trackable", "ConcreteFunction")
        or hasattr(model, "get_concrete_function")
        or hasattr(model, "concrete_functions")
    )
    if not known:
        raise InvalidInput(
            f"from_tensorflow was given an object of type {type(model).__module__}."
            f"{type(model).__qualname__}.",
            hint="it takes a ConcreteFunction, a tf.function, a tf.Module or SavedModel object, "
            "or a frozen GraphDef; wrap a Python function in tf.function",
        )


def _is_function(value: Any) -> bool:
    return (
        is_instance_of(value, "tensorflow", "ConcreteFunction")
        or hasattr(value, "get_concrete_function")
        or hasattr(value, "concrete_functions")
    )


def _chosen(model: Any, signature: str | None) -> Any:
    if _is_function(model):
        if signature is not None:
            raise InvalidInput(
                f"signature={signature!r} was given with a single function.",
                hint="signature chooses one function of a SavedModel or tf.Module",
            )
        return model
    functions = entry_points(model)
    if not functions:
        raise InvalidInput(
            f"the {type(model).__name__} has neither signatures nor tf.functions.",
            hint="save it with signatures=…, or give one of its functions",
        )
    if signature is not None:
        if signature not in functions:
            raise InvalidInput(
                f"the model has no signature {signature!r}; it has: {', '.join(functions)}."
            )
        return functions[signature]
    for name in ("serving_default", "__call__"):
        if name in functions:
            return functions[name]
    if len(functions) == 1:
        return next(iter(functions.values()))
    raise InvalidInput(
        f"the model has several signatures and none was chosen: {', '.join(functions)}.",
        hint=f"signature={next(iter(functions))!r} chooses one",
    )


def entry_points(model: Any) -> dict[str, Any]:
    """List the signatures of a SavedModel object, and the tf.functions of any trackable."""
    signatures: Any = getattr(model, "signatures", None)
    functions = dict(signatures.items()) if hasattr(signatures, "items") else {}
    names = [*vars(model), *(name for name in dir(type(model)) if name not in vars(model))]
    for name in names:
        if name in functions or (name.startswith("_") and name != "__call__"):
            continue
        held = inspect.getattr_static(model, name, None)
        if _is_function(held):
            functions[name] = getattr(model, name)
    return functions


def _concrete(function: Any) -> Any:
    """Give the one trace of a function whose inputs are known; None where there is none."""
    if is_instance_of(function, "tensorflow", "ConcreteFunction"):
        return function
    if getattr(function, "input_signature", None) is not None:
        return function.get_concrete_function()
    restored = list(getattr(function, "concrete_functions", ()))
    if len(restored) > 1:
        inferred = [c for c in restored if not _has_true(c)]
        restored = inferred if len(inferred) == 1 else restored
    if len(restored) > 1:
        traces = "; ".join(str(c.structured_input_signature[0]) for c in restored)
        raise InvalidInput(
            f"the function was saved with {len(restored)} traces: {traces}.",
            hint="give one of function.concrete_functions",
        )
    return restored[0] if restored else None


def _has_true(concrete: Any) -> bool:
    """Tell a trace for training from one for inference: one of its arguments is True."""
    tf: Any = require("tensorflow", "forge.from_tensorflow")
    return any(leaf is True for leaf in tf.nest.flatten(concrete.structured_input_signature))


def _from_concrete(function: Any) -> Signature:
    tf: Any = require("tensorflow", "forge.from_tensorflow")
    structure = function.structured_input_signature
    if structure is None:
        return _from_captured(function)
    leaves = tf.nest.flatten(structure)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, tf.TypeSpec)]
    for i in places:
        if not isinstance(leaves[i], tf.TensorSpec):
            raise InvalidInput(
                f"an input of the function is a {type(leaves[i]).__name__}: {leaves[i]}.",
                hint="give a function of dense tensors",
            )
    names = distinct([leaves[i].name or f"input_{n}" for n, i in enumerate(places)])
    specs = tuple(
        TensorSpec(name, dims_of(leaves[i].shape, name), leaves[i].dtype.name)
        for name, i in zip(names, places, strict=True)
    )

    def call(flat: Sequence[Any]) -> Any:
        values = list(leaves)
        for i, tensor in zip(places, flat, strict=True):
            values[i] = tensor
        args, kwargs = tf.nest.pack_sequence_as(structure, values)
        return function(*args, **kwargs)

    return Signature(call, specs, name_structure)


def _from_captured(function: Any) -> Signature:
    """Describe a wrapped TensorFlow 1 function, which has no structured signature."""
    captured = len(function.captured_inputs)
    tensors = function.inputs[: len(function.inputs) - captured]
    names = distinct([tensor.name.partition(":")[0] for tensor in tensors])
    specs = tuple(
        TensorSpec(name, dims_of(tensor.shape, name), tensor.dtype.name)
        for name, tensor in zip(names, tensors, strict=True)
    )

    def name_outputs(result: Any) -> Named:
        return name_structure(result)

    return Signature(lambda flat: function(*flat), specs, name_outputs)


def _from_shapes(function: Any, shape_dict: Mapping[str, Sequence[Dim]] | None) -> Signature:
    """Describe a tf.function without input_signature: the caller's shapes, in its own order."""
    python = getattr(function, "python_function", None)
    if python is None:
        raise InvalidInput("the function holds no trace and no Python code.")
    parameters = [
        name
        for name, parameter in inspect.signature(python).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and name != "self"
    ]
    if not shape_dict:
        raise InvalidInput(
            f"the tf.function takes {', '.join(parameters) or 'no inputs'} "
            f"of shapes that are not known.",
            hint="give shape_dict (float32 inputs), an input_signature, or "
            "function.get_concrete_function(tf.TensorSpec(…))",
        )
    unknown = [name for name in shape_dict if name not in parameters]
    if unknown:
        raise InvalidInput(
            f"shape_dict of {_LOADER} names {', '.join(map(repr, unknown))}, which is no input of "
            f"the function; it takes: {', '.join(parameters)}."
        )
    names = [name for name in parameters if name in shape_dict]
    specs = tuple(TensorSpec(name, tuple(shape_dict[name]), "float32") for name in names)
    base = Signature(
        lambda flat: function(**dict(zip(names, flat, strict=True))), specs, name_structure
    )
    return base.with_shapes(shape_dict, _LOADER)
