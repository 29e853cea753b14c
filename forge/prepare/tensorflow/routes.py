"""Load a traced model through TFLite or ONNX, whichever is right for its operators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from forge.errors import ForgeError, InvalidInput, LoadError, UnsupportedOperator
from forge.ir import IRModule
from forge.prepare.tensorflow import operators
from forge.prepare.tensorflow.signature import UNKNOWN_RANK, Signature
from forge.prepare.tensorflow.symbolic import check_symbolic
from forge.prepare.tensorflow.to_onnx import freeze, to_onnx
from forge.prepare.tensorflow.to_tflite import to_tflite
from forge.prepare.tensorflow.trace import trace
from forge.specs import Dim, Step, TensorSpec


def load(signature: Signature, steps: Sequence[Step], options: Mapping[str, Any]) -> IRModule:
    """Trace a model, choose the route, import, and give the framework's names back.

    Args:
        signature: The model; a str dimension stays symbolic where the ONNX route can hold it.
        steps: What was done before.
        options: The loaders' common keyword arguments.

    Raises:
        InvalidInput: Open dimensions that cannot stay symbolic.
        UnsupportedOperator: No route loads the model right.
        LoadError: Both routes failed.
    """
    for spec in signature.inputs:
        if UNKNOWN_RANK in spec.shape:
            raise InvalidInput(
                f"the rank of the model's input {spec.name!r} is unknown.",
                hint=f"give its shape: shape_dict={{{spec.name!r}: (1, …)}}",
            )
    function, output_names = trace(signature)
    operators.refuse(operators.nodes_of(function.graph.as_graph_def()), variables=True)
    frozen = freeze(function)
    nodes = operators.nodes_of(frozen.graph.as_graph_def())
    operators.refuse(nodes)
    symbolic = [spec for spec in signature.inputs if not spec.is_static]
    failures: list[ForgeError] = []
    if symbolic:
        reason = "TFLite holds no symbolic dimension"
    elif wrong := operators.wrong_in_tflite(nodes):
        reason = _say(wrong)
        failures.append(UnsupportedOperator(f"the TFLite route is wrong for {reason}", wrong))
    else:
        reason = "first choice"
        try:
            ir = _through_tflite(function, options)
            return _renamed(
                ir, signature.inputs, output_names, function.outputs, steps, _step("TFLite", reason)
            )
        except ForgeError as error:
            failures.append(error)
            reason = f"the TFLite route failed: {error.message}"
    if wrong := operators.wrong_in_onnx(nodes):
        failures.append(UnsupportedOperator(f"the ONNX route is wrong for {_say(wrong)}", wrong))
    else:
        try:
            ir = _through_onnx(frozen, signature.inputs, options)
            if symbolic:
                check_symbolic(ir.module)
            return _renamed(
                ir, signature.inputs, output_names, function.outputs, steps, _step("ONNX", reason)
            )
        except ForgeError as error:
            failures.append(error)
    raise _no_route(failures, symbolic)


def _say(wrong: Mapping[str, str]) -> str:
    return "; ".join(f"{operator} ({why})" for operator, why in wrong.items())


def _step(route: str, reason: str) -> Step:
    return Step(f"route: {route}", reason, 1)


def _through_tflite(function: Any, options: Mapping[str, Any]) -> IRModule:
    from forge.loaders.tflite import from_tflite

    return from_tflite(to_tflite(function), **options)


def _through_onnx(
    frozen: Any, inputs: Sequence[TensorSpec], options: Mapping[str, Any]
) -> IRModule:
    from forge.loaders.onnx import from_onnx

    model = to_onnx(frozen, len(inputs))
    shapes: dict[str, tuple[Dim, ...]] = {
        value.name: spec.shape for value, spec in zip(model.graph.input, inputs, strict=True)
    }
    return from_onnx(model, shapes, **options)


def _renamed(
    ir: IRModule,
    inputs: Sequence[TensorSpec],
    output_names: Sequence[str],
    tensors: Sequence[Any],
    steps: Sequence[Step],
    route: Step,
) -> IRModule:
    if len(ir.inputs) != len(inputs) or len(ir.outputs) != len(output_names):
        raise LoadError(
            f"the route changed the model's border: {len(inputs)} inputs and "
            f"{len(output_names)} outputs became {len(ir.inputs)} and {len(ir.outputs)}."
        )
    for found, spec in zip(ir.inputs, inputs, strict=True):
        if found.shape != spec.shape or found.dtype != spec.dtype:
            raise LoadError(f"the route changed the input {spec} into {found}.")
    for found, name, tensor in zip(ir.outputs, output_names, tensors, strict=True):
        if found.dtype != tensor.dtype.name or not _compatible(found, tensor.shape):
            raise LoadError(
                f"the route changed the output {name!r} from {tensor.shape} {tensor.dtype.name} "
                f"into {found}."
            )
    return IRModule(
        ir.module,
        inputs=inputs,
        outputs=[
            replace(found, name=name) for found, name in zip(ir.outputs, output_names, strict=True)
        ],
        history=(*steps, route, *ir.history),
        unfolded=ir.unfolded,
    )


def _compatible(found: TensorSpec, shape: Any) -> bool:
    if shape.rank is None:
        return True
    return len(found.shape) == shape.rank and all(
        want is None or not isinstance(have, int) or have == want
        for have, want in zip(found.shape, shape, strict=True)
    )


def _no_route(failures: Sequence[ForgeError], symbolic: Sequence[TensorSpec]) -> ForgeError:
    message = " | ".join(failure.message for failure in failures)
    if symbolic:
        shapes = ", ".join(
            f"{spec.name!r}: {tuple(d if isinstance(d, int) else 1 for d in spec.shape)}"
            for spec in symbolic
        )
        return InvalidInput(
            f"open dimensions of {', '.join(map(str, symbolic))} cannot stay symbolic in this "
            f"model: {message}",
            hint=f"give the shape, for example shape_dict={{{shapes}}}",
        )
    named = [op for f in failures if isinstance(f, UnsupportedOperator) for op in f.operators]
    hint = next((failure.hint for failure in failures if failure.hint), None)
    if named:
        return UnsupportedOperator(f"no route loads the model: {message}", named, hint)
    return LoadError(f"no route loads the model: {message}", hint)
