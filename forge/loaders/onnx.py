"""Load ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from forge import stages
from forge.errors import ForgeError, InvalidInput, LoadError, UnsupportedOperator
from forge.frameworks import is_instance_of, require
from forge.loaders._finish import Fold, finish, selected_passes
from forge.specs import Dim, Step

if TYPE_CHECKING:
    import onnx

    from forge.ir import IRModule

# Set by the loader itself: another value would break what it says of inputs and names.
_RESERVED_ARGUMENTS = frozenset({"shape_dict", "dtype_dict", "opset", "keep_params_in_input"})


def from_onnx(
    onnx_model: onnx.ModelProto,
    shape_dict: Mapping[str, Sequence[Dim]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    opset: int | None = None,
    *,
    fold: Fold = True,
    prepare: bool = True,
    keep_unfolded: bool = False,
    custom_ops: Mapping[str, Any] | None = None,
    frontend_args: Mapping[str, Any] | None = None,
) -> IRModule:
    """Load an ONNX model.

    Args:
        onnx_model: The model in memory, as ``onnx.load`` gives it. It is not changed.
        shape_dict: Shape by input name; a str dimension is symbolic. Inputs that are left out keep
            the model's own shape, in which open dimensions stay symbolic.
        dtype_dict: Dtype by input name, where it differs from the model's own.
        opset: Read the operators as of this version, not the one that the model imports.
        fold: Which folding passes run: True, False, or some of ``("constants", "batch_norm")``.
        prepare: Rewrite what TVM's frontend cannot read. False hands the model over as it is,
            with the given shapes alone.
        keep_unfolded: Keep the module before folding in ``IRModule.unfolded``.
        custom_ops: How to convert operators that are unknown, by ``domain::Name``: an
            ``onnx.FunctionProto``, which is inlined, or a converter
            ``f(builder, inputs, attrs) -> relax.Expr``.
        frontend_args: Further arguments of ``tvm.relax.frontend.onnx.from_onnx``.

    Raises:
        InvalidInput: Not a model, an invalid one, or arguments that do not fit it.
        UnsupportedOperator: Operators that cannot be loaded; all of them are named.
        LoadError: TVM's frontend failed on it.
        MissingFramework: The package ``onnx`` is not installed.
    """
    stages.enter("load")
    selected_passes(fold)
    onnx = require("onnx", "forge.from_onnx")
    _check_is_model(onnx_model)
    reserved = sorted(_RESERVED_ARGUMENTS.intersection(frontend_args or ()))
    if reserved:
        raise InvalidInput(f"frontend_args may not set {', '.join(reserved)}: the loader does.")

    from forge.prepare.onnx import declared_outputs, input_types
    from forge.prepare.onnx.graphs import opset_of

    model = onnx.ModelProto()
    model.CopyFrom(onnx_model)
    history = [input_types.apply_input_types(model.graph, shape_dict, dtype_dict)]
    inputs = input_types.input_specs(model.graph)
    output_names = [value.name for value in model.graph.output]
    functions, converters = _split_custom_ops(onnx, custom_ops or {})
    version = opset if opset is not None else opset_of(model)

    model, steps = _prepare(onnx, model, functions, converters, version, prepare)
    history += steps
    stages.show_prepared("onnx", model)

    def import_piece(piece: Any) -> Any:
        return _call_frontend(piece, opset, frontend_args or {})

    if converters:
        from forge.prepare.onnx.stitch import import_with_converters

        module = import_with_converters(model, converters, import_piece)
        history.append(Step("custom-converters", "given by the caller", len(converters)))
    else:
        module = import_piece(model)

    declared_outputs.check_outputs(model, module)
    return finish(
        module,
        input_names=[spec.name for spec in inputs],
        output_names=output_names,
        history=[step for step in history if step.count],
        fold=fold,
        keep_unfolded=keep_unfolded,
    )


def _check_is_model(model: Any) -> None:
    if is_instance_of(model, "onnx", "ModelProto"):
        if not model.graph.output:
            raise InvalidInput(
                "the ONNX model is empty: its graph has no outputs.",
                hint="check that the file was read whole",
            )
        return
    hint = "pass the onnx.ModelProto that onnx.load(path) returns"
    if isinstance(model, (str, PathLike)):
        raise InvalidInput(f"from_onnx takes a model in memory, not the path {str(model)!r}.", hint)
    if isinstance(model, (bytes, bytearray)):
        hint = "pass onnx.load_from_string(data)"
    elif is_instance_of(model, "onnx_graphsurgeon", "Graph"):
        hint = "pass onnx_graphsurgeon.export_onnx(graph)"
    elif is_instance_of(model, "onnx", "GraphProto"):
        hint = "pass onnx.helper.make_model(graph)"
    elif is_instance_of(model, "onnxscript", "ONNXProgram") or is_instance_of(
        model, "torch", "ONNXProgram"
    ):
        hint = "pass program.model_proto"
    raise InvalidInput(f"from_onnx takes an onnx.ModelProto, not {type(model).__name__}.", hint)


def _split_custom_ops(
    onnx: Any, custom_ops: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Callable[..., Any]]]:
    functions: dict[str, Any] = {}
    converters: dict[str, Callable[..., Any]] = {}
    for name, given in custom_ops.items():
        if isinstance(given, onnx.FunctionProto):
            functions[name] = given
        elif hasattr(given, "to_function_proto"):  # a function written with onnxscript
            functions[name] = given.to_function_proto()
        elif callable(given):
            converters[name] = given
        else:
            raise InvalidInput(
                f"custom_ops[{name!r}] is a {type(given).__name__}.",
                hint="give an onnx.FunctionProto, or f(builder, inputs, attrs) -> relax.Expr",
            )
    return functions, converters


def _prepare(
    onnx: Any,
    model: Any,
    functions: Mapping[str, Any],
    converters: Mapping[str, Any],
    version: int,
    prepare: bool,
) -> tuple[Any, list[Step]]:
    """Check the model, rewrite it, and refuse what is left that TVM would not convert right."""
    from forge.prepare.onnx import (
        constant_nodes,
        constant_values,
        declared_outputs,
        identities,
        operators,
        silent_faults,
    )
    from forge.prepare.onnx import functions as bodies

    for name in (*functions, *converters):
        bodies.split_operator_name(name)
    steps: list[Step] = []
    known = operators.standard_converters()
    try:
        declared_outputs.complete_outputs(model.graph)
        onnx.checker.check_model(model)
        if prepare:
            bodies.add_user_functions(model, functions)
            model, step = bodies.inline_local_functions(model)
            steps.append(step)
            model, step = bodies.expand_schema_functions(model, known, version)
            steps += [step, constant_nodes.bind_constant_nodes(model)]
            steps += [identities.remove_identities(model), constant_values.bind_known_values(model)]
    except onnx.checker.ValidationError as error:
        raise InvalidInput(
            f"the ONNX model is invalid: {error}",
            hint="onnx.checker.check_model(model) says the same",
        ) from error
    except ForgeError:
        raise
    except Exception as error:
        raise LoadError(f"preparing the ONNX model failed: {error}") from error
    unsupported = operators.unsupported_operators(model, known, custom=converters)
    if unsupported:
        raise UnsupportedOperator(
            f"the ONNX model has operators that cannot be loaded: {', '.join(unsupported)}.",
            unsupported,
            hint='define them: custom_ops={"domain::Name": an onnx.FunctionProto, or '
            "f(builder, inputs, attrs) -> relax.Expr}",
        )
    faults = silent_faults.find(model)
    if faults:
        raise UnsupportedOperator(
            "TVM's frontend would get these wrong without a word: "
            + "; ".join(faults.values())
            + ".",
            faults,
            hint="export the model without these options",
        )
    return model, steps


def _call_frontend(model: Any, opset: int | None, frontend_args: Mapping[str, Any]) -> Any:
    import contextlib
    import io
    import warnings

    from tvm.relax.frontend import onnx as frontend

    printed = io.StringIO()
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(printed):
            warnings.simplefilter("ignore")
            return frontend.from_onnx(model, opset=opset, **frontend_args)
    except Exception as error:
        # The frontend prints which operator it was at, and does not put it into the exception.
        context = printed.getvalue().split(", with inputs", 1)[0].strip()
        detail = f"{context}: " if context else ""
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise LoadError(
            f"TVM's ONNX frontend failed: {detail}{type(error).__name__}: {lines[-1]}"
        ) from error
