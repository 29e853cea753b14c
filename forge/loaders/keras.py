"""Load Keras 3 models."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from forge import stages
from forge.errors import InvalidInput, UnsupportedOperator
from forge.frameworks import is_instance_of, require
from forge.ir import IRModule
from forge.loaders._finish import Fold, selected_passes
from forge.prepare.tensorflow.signature import Named, Signature, dims_of, distinct, name_structure
from forge.specs import Dim, TensorSpec

_EXAMPLE = 'shape_dict={"input_0": (1, 28, 28)}'


def from_keras(
    keras_model: object,
    shape_dict: Mapping[str, Sequence[Dim]] | None = None,
    *,
    fold: Fold = True,
    prepare: bool = True,
    keep_unfolded: bool = False,
    custom_ops: Mapping[str, Any] | None = None,
    frontend_args: Mapping[str, Any] | None = None,
) -> IRModule:
    """Load a Keras 3 model on the TensorFlow backend, as ``model(inputs, training=False)``.

    Inputs of functional models have the names of their ``InputLayer``, or the keys of a dict;
    outputs the names of the layers that make them, or the keys of a dict. Both stand in Keras'
    own order, in which dicts are sorted. The model is left as it was.

    Args:
        keras_model: A Sequential, functional or subclassed model.
        shape_dict: Shape by input name; a str dimension is symbolic. Without it an open batch
            stays symbolic where the ONNX route can hold it. A model that was never built takes its
            inputs from it: names of arguments of ``call``, keys of a dict, or one name of any kind.
        fold: Which folding passes run: True, False, or some of ``("constants", "batch_norm")``.
        prepare: Passed on to the loader of the route.
        keep_unfolded: Keep the module as it was before folding in ``IRModule.unfolded``.
        custom_ops: Passed on to the loader of the route.
        frontend_args: Passed on to TVM's frontend of the route.

    Raises:
        InvalidInput: Not a Keras 3 model, or shapes that do not fit it or are missing.
        UnsupportedOperator: Operators that no route loads right, all of them.
        LoadError: Both routes, TFLite and ONNX, failed.
        MissingFramework: Keras, TensorFlow, tflite or tf2onnx is not installed.
    """
    stages.enter("load")
    selected_passes(fold)
    _check_is_model(keras_model)
    require("tvm", "forge.from_keras")
    keras: Any = require("keras", "forge.from_keras")
    require("tensorflow", "forge.from_keras")
    _check_backend(keras)
    from forge.prepare.tensorflow.routes import load
    from forge.prepare.tensorflow.unroll_recurrent import unrolled

    _refuse_state(keras_model)
    signature = keras_signature(keras_model, shape_dict)
    options = {
        "fold": fold,
        "prepare": prepare,
        "keep_unfolded": keep_unfolded,
        "custom_ops": custom_ops,
        "frontend_args": frontend_args,
    }
    with unrolled(keras_model) as step:
        return load(signature, [step] if step else [], options)


def keras_signature(model: Any, shape_dict: Mapping[str, Sequence[Dim]] | None = None) -> Signature:
    """Describe what a Keras model takes and gives, and how to call it.

    Raises:
        InvalidInput: It was never built and ``shape_dict`` does not say what it takes.
    """
    functional = _functional(model)
    if functional is not None:
        return _functional_signature(model, functional).with_shapes(shape_dict, "from_keras")
    return _subclassed_signature(model, dict(shape_dict or {}))


def _functional(model: Any) -> Any:
    """Give the functional graph inside a model, if it has one."""
    if is_instance_of(model, "keras", "Functional"):
        return model
    return (
        getattr(model, "_functional", None)
        if is_instance_of(model, "keras", "Sequential")
        else None
    )


def _functional_signature(model: Any, functional: Any) -> Signature:
    tree: Any = require("keras", "forge.from_keras").tree
    structure = functional._inputs_struct
    if functional is not model and isinstance(structure, list | tuple) and len(structure) == 1:
        structure = structure[0]
    tensors = tree.flatten(structure)
    names = _input_names(structure, tensors)
    specs = tuple(
        TensorSpec(name, dims_of(tensor.shape, name), str(tensor.dtype))
        for name, tensor in zip(names, tensors, strict=True)
    )

    def call(flat: Sequence[Any]) -> Any:
        return model(tree.pack_sequence_as(structure, list(flat)), training=False)

    def name_outputs(result: Any) -> Named:
        named = name_structure(result)
        if isinstance(result, Mapping):
            return named
        layers = list(functional.output_names)
        if len(layers) != len(named):
            return named
        return list(zip(distinct(layers), (leaf for _, leaf in named), strict=True))

    return Signature(call, specs, name_outputs)


def _input_names(structure: Any, tensors: Sequence[Any]) -> list[str]:
    if isinstance(structure, Mapping):
        return [name for name, _ in name_structure(structure)]
    # The layer's name survives saving and loading; an unnamed tensor's does not.
    return distinct([tensor._keras_history.operation.name for tensor in tensors])


def _subclassed_signature(model: Any, shapes: dict[str, Sequence[Dim]]) -> Signature:
    parameters = [
        name
        for name, parameter in inspect.signature(model.call).parameters.items()
        if name not in ("training", "mask")
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    ]
    built = _built_inputs(model, parameters)
    if built is not None:
        specs, arrange = built
        base = Signature(lambda flat: arrange(model, flat), specs, name_structure)
        return base.with_shapes(shapes, "from_keras")
    if not shapes:
        raise InvalidInput(
            f"the Keras model {model.name!r} was never built, so its inputs are not known.",
            hint=f"give their shapes, for example {_EXAMPLE}",
        )
    dtype = str(model.input_dtype)
    specs = tuple(TensorSpec(name, tuple(shape), dtype) for name, shape in shapes.items())
    names = [spec.name for spec in specs]
    if set(names) <= set(parameters):
        specs = tuple(sorted(specs, key=lambda spec: parameters.index(spec.name)))
        names = [spec.name for spec in specs]

        def call(flat: Sequence[Any]) -> Any:
            first, *rest = flat
            others = dict(zip(names[1:], rest, strict=True))
            return (
                model(first, **others, training=False)
                if _takes_training(model)
                else model(first, **others)
            )

    elif len(names) == 1:

        def call(flat: Sequence[Any]) -> Any:
            return _call(model, flat[0])

    else:
        specs = tuple(sorted(specs, key=lambda spec: spec.name))
        keys = [spec.name for spec in specs]

        def call(flat: Sequence[Any]) -> Any:
            return _call(model, dict(zip(keys, flat, strict=True)))

    return Signature(call, specs, name_structure)


def _built_inputs(model: Any, parameters: Sequence[str]) -> Any:
    """Read back with what shapes a subclassed model was called first, its batch left open."""
    recorded = getattr(model, "_build_shapes_dict", None)
    if not model.built or not recorded:
        return None
    dtype = str(model.input_dtype)

    def spec(name: str, shape: Sequence[Any]) -> TensorSpec:
        dims = dims_of((None, *tuple(shape)[1:]), name)
        return TensorSpec(name, dims, dtype)

    shapes = list(recorded.values())
    if len(shapes) == 1 and isinstance(shapes[0], Mapping):
        keys = sorted(shapes[0])
        specs = tuple(spec(key, shapes[0][key]) for key in keys)
        return specs, lambda model, flat: _call(model, dict(zip(keys, flat, strict=True)))
    if len(shapes) == 1 and shapes[0] and isinstance(shapes[0][0], list | tuple):
        specs = tuple(spec(f"input_{i}", shape) for i, shape in enumerate(shapes[0]))
        return specs, lambda model, flat: _call(model, list(flat))
    if not all(shape and isinstance(shape, list | tuple) for shape in shapes):
        return None
    names = [f"{name}" for name in parameters[: len(shapes)]]
    specs = tuple(spec(name, shape) for name, shape in zip(names, shapes, strict=True))

    def arrange(model: Any, flat: Sequence[Any]) -> Any:
        return _call(model, flat[0], dict(zip(names[1:], flat[1:], strict=True)))

    return specs, arrange


def _takes_training(model: Any) -> bool:
    parameters = inspect.signature(model.call).parameters.values()
    return any(p.name == "training" or p.kind is p.VAR_KEYWORD for p in parameters)


def _call(model: Any, first: Any, others: Mapping[str, Any] | None = None) -> Any:
    # Keras passes ``training`` on only to a ``call`` that has it.
    training = {"training": False} if _takes_training(model) else {}
    return model(first, **(others or {}), **training)


def _check_is_model(model: object) -> None:
    if is_instance_of(model, "keras", "Model"):
        return
    if isinstance(model, str | PathLike):
        raise InvalidInput(
            f"from_keras takes a model in memory, not the path {str(model)!r}.",
            hint="keras.models.load_model(path) opens it",
        )
    if is_instance_of(model, "tf_keras", "Model") or is_instance_of(model, "tensorflow", "Model"):
        raise InvalidInput(
            "from_keras was given a model of Keras 2.",
            hint="save it as .h5 or .keras and open that with keras.models.load_model of Keras 3",
        )
    raise InvalidInput(
        f"from_keras was given an object of type {type(model).__module__}."
        f"{type(model).__qualname__}, expected a keras.Model.",
        hint="wrap a single layer in keras.Sequential; give functions to from_tensorflow",
    )


def _check_backend(keras: Any) -> None:
    backend = keras.backend.backend()
    if backend != "tensorflow":
        raise InvalidInput(
            f"Keras runs on the {backend} backend; from_keras needs the TensorFlow one.",
            hint="save the model as .keras and open it in a process with KERAS_BACKEND=tensorflow",
        )


def _refuse_state(model: Any) -> None:
    found = [layer for layer in model._flatten_layers() if getattr(layer, "stateful", False)]
    if found:
        names = ", ".join(f"{type(layer).__name__} {layer.name!r}" for layer in found)
        raise UnsupportedOperator(
            f"the Keras model keeps state between calls: {names}.",
            operators=[type(layer).__name__ for layer in found],
            hint="build it with stateful=False, or with its state as inputs and outputs",
        )
