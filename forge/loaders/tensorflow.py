"""Load TensorFlow functions, modules, SavedModels and frozen graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from forge import stages
from forge.frameworks import require
from forge.ir import IRModule
from forge.loaders._finish import Fold, selected_passes
from forge.specs import Dim


def from_tensorflow(
    model: object,
    shape_dict: Mapping[str, Sequence[Dim]] | None = None,
    outputs: Sequence[str] | None = None,
    signature: str | None = None,
    *,
    fold: Fold = True,
    prepare: bool = True,
    keep_unfolded: bool = False,
    custom_ops: Mapping[str, Any] | None = None,
    frontend_args: Mapping[str, Any] | None = None,
) -> IRModule:
    """Load a TensorFlow model, its variables frozen.

    Inputs have TensorFlow's own names: of a ``TensorSpec`` or an argument, or of a GraphDef's
    placeholder. Outputs have the keys of a dict, in sorted order; else ``output_0``,
    ``output_1`` …; of a GraphDef, what ``outputs`` says.

    Args:
        model: A ``ConcreteFunction``; a ``tf.function``; a ``tf.Module`` or an object that
            ``tf.saved_model.load`` returned; or a frozen ``GraphDef``.
        shape_dict: Shape by input name; a str dimension is symbolic. Needed for a ``tf.function``
            without ``input_signature``, whose inputs are float32 then. Without it an open
            dimension stays symbolic where the ONNX route can hold it; an open first dimension is
            the same in all inputs.
        outputs: Nodes or tensors that a GraphDef gives back.
        signature: Which signature or ``tf.function`` of a SavedModel or module; without it
            ``serving_default``, ``__call__``, or the only one.
        fold: Which folding passes run: True, False, or some of ``("constants", "batch_norm")``.
        prepare: Passed on to the loader of the route.
        keep_unfolded: Keep the module as it was before folding in ``IRModule.unfolded``.
        custom_ops: Passed on to the loader of the route.
        frontend_args: Passed on to TVM's frontend of the route.

    Raises:
        InvalidInput: Not such a model, several signatures and none chosen, or shapes that do not
            fit or are missing.
        UnsupportedOperator: Operators that no route loads right, all of them; also operators
            that keep state, draw random numbers or reach outside the graph.
        LoadError: Both routes, TFLite and ONNX, failed.
        MissingFramework: TensorFlow, tflite or tf2onnx is not installed.
    """
    stages.enter("load")
    selected_passes(fold)
    require("tvm", "forge.from_tensorflow")
    require("tensorflow", "forge.from_tensorflow")
    from forge.prepare.tensorflow.entry_points import signature_of
    from forge.prepare.tensorflow.routes import load

    options = {
        "fold": fold,
        "prepare": prepare,
        "keep_unfolded": keep_unfolded,
        "custom_ops": custom_ops,
        "frontend_args": frontend_args,
    }
    return load(signature_of(model, shape_dict, outputs, signature), (), options)
