"""Run an ONNX model in onnx's own ReferenceEvaluator, in its own dtypes or in float64."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np
from onnx import FunctionProto, ModelProto, numpy_helper
from onnx.reference import ReferenceEvaluator

from forge import InvalidInput, RunError, UnsupportedOperator
from forge.prepare.onnx.graphs import all_graphs, model_inputs, operator_name, opset_of, subgraphs
from validation.references.arbiters.onnx_cost import check_cost
from validation.references.arbiters.onnx_double import widen_body, widen_model
from validation.references.arbiters.onnx_faults import faults_of
from validation.references.arbiters.onnx_operators import mended_for
from validation.references.arbiters.widening import is_floating, widened
from validation.references.protocol import Arrays, Session

# A loop may run longer than its body lets one guess; a cell has 300 s for all of its stages.
_DEADLINE_SECONDS = 120.0
_deadline: ContextVar[float] = ContextVar("deadline")


class _Evaluator(ReferenceEvaluator):  # type: ignore[misc]
    """Watches what every node gives, in nested graphs and functions too."""

    float64 = False

    def __init__(self, proto: Any, **options: Any) -> None:
        if options.get("new_ops") is None:
            # The evaluator does not hand them on to the bodies of functions.
            opset = dict(options.get("opsets") or ())
            opset |= {each.domain: each.version for each in getattr(proto, "opset_import", ())}
            options["new_ops"] = mended_for(opset.get("", 1))
        super().__init__(proto, **options)
        for node in self.rt_nodes_:
            node.run = self._watched(node, node.run)

    def _watched(self, node: Any, run: Any) -> Any:
        def watched(*inputs: Any, **options: Any) -> Any:
            if time.monotonic() > _deadline.get():
                raise RunError(
                    f"onnx's ReferenceEvaluator came no further than {node.op_type} "
                    f"in {_DEADLINE_SECONDS:.0f} s."
                )
            results = run(*inputs, **options)
            if self.float64:
                _check_width(node.op_type, results)
            return results

        return watched


class _Float64Evaluator(_Evaluator):
    float64 = True

    def __init__(self, proto: Any, **options: Any) -> None:
        if isinstance(proto, FunctionProto):
            # The standard's own bodies of operators hold float32 constants.
            copy = FunctionProto()
            copy.CopyFrom(proto)
            widen_body(copy)
            proto = copy
        super().__init__(proto, **options)


def evaluator_session(
    model: Any, shapes: Mapping[str, Any], names: list[str], *, float64: bool
) -> Session:
    """Make a session of the ReferenceEvaluator.

    Args:
        model: An ``onnx.ModelProto`` of our own, which is changed.
        shapes: The caller's shapes by input name, some dimensions of which may be open.
        names: The outputs.
        float64: Widen the model to float64.

    Raises:
        UnsupportedOperator: It holds operators that the evaluator computes wrong, or lacks.
        RunError: It is too large.
        InvalidInput: It holds sparse weights.
    """
    _normalise(model)
    _refuse(model, float64)
    check_cost(model, _sizes(model, shapes))
    if float64:
        widen_model(model)
    evaluator = (_Float64Evaluator if float64 else _Evaluator)(model)

    def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
        feeds = {name: widened(a) if float64 else np.asarray(a) for name, a in inputs.items()}
        check_cost(model, {name: array.shape for name, array in feeds.items()})
        token = _deadline.set(time.monotonic() + _DEADLINE_SECONDS)
        try:
            with np.errstate(all="ignore"):
                results = evaluator.run(names, feeds)
        finally:
            _deadline.reset(token)
        return {name: _array(name, value) for name, value in zip(names, results, strict=True)}

    return run


def _normalise(model: Any) -> None:
    """Spell the default domain one way, and sort functions so that callers come last."""
    for entry in model.opset_import:
        entry.domain = "" if entry.domain == "ai.onnx" else entry.domain
    for node in _nodes(model):
        node.domain = "" if node.domain == "ai.onnx" else node.domain
    waiting = {(each.domain, each.name): each for each in model.functions}
    ordered: list[Any] = []

    def place(key: tuple[str, str]) -> None:
        function = waiting.pop(key, None)
        if function is None:
            return
        for node in _nested(function):
            place((node.domain, node.op_type))
        ordered.append(function)

    for key in list(waiting):
        place(key)
    sorted_functions = ModelProto(functions=ordered).functions
    del model.functions[:]
    model.functions.extend(sorted_functions)


def _nodes(model: Any) -> Iterator[Any]:
    for body in (model.graph, *model.functions):
        yield from _nested(body)


def _nested(body: Any) -> Iterator[Any]:
    for node in body.node:
        yield node
        for graph in subgraphs(node):
            yield from _nested(graph)


def _refuse(model: Any, float64: bool) -> None:
    if any(graph.sparse_initializer for graph in all_graphs(model.graph)):
        raise InvalidInput("onnx's ReferenceEvaluator takes no sparse weights.")
    defined = {(each.domain, each.name) for each in model.functions}
    unknown = {
        operator_name(node)
        for node in _nodes(model)
        if node.domain
        and not node.domain.startswith("ai.onnx")
        and (node.domain, node.op_type) not in defined
    }
    if unknown:
        raise UnsupportedOperator(
            f"onnx itself does not know {', '.join(sorted(unknown))}.", operators=sorted(unknown)
        )
    constants = dict(_constants(model))
    opset = opset_of(model)
    faults = {
        fault
        for node in _nodes(model)
        for fault in faults_of(node, opset, constants, float64=float64)
    }
    if faults:
        raise UnsupportedOperator(
            "onnx's ReferenceEvaluator is not to be trusted with "
            + "; ".join(f"{operator} ({reason})" for operator, reason in sorted(faults))
            + ".",
            operators=[f"ai.onnx::{operator}" for operator, _ in sorted(faults)],
        )


def _constants(model: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Give the small constants of the graph by name; a name that a body hides is left out."""
    seen: set[str] = set()
    for graph in all_graphs(model.graph):
        tensors = {tensor.name: tensor for tensor in graph.initializer if _size(tensor) <= 8}
        for node in graph.node:
            for attribute in node.attribute:
                if node.op_type == "Constant" and attribute.name == "value":
                    tensors[node.output[0]] = attribute.t
        for name, tensor in tensors.items():
            if name not in seen and _size(tensor) <= 8:
                yield name, numpy_helper.to_array(tensor)
        seen |= set(tensors)


def _size(tensor: Any) -> int:
    return int(np.prod(tensor.dims, dtype=np.int64))


def _sizes(model: Any, shapes: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {
        value.name: tuple(dim if isinstance(dim, int) else 1 for dim in shapes[value.name])
        for value in model_inputs(model.graph)
        if value.name in shapes
    }


def _check_width(operator: str, results: Any) -> None:
    for value in results:
        if isinstance(value, np.ndarray) and is_floating(value.dtype) and value.dtype != np.float64:
            raise RunError(f"{operator} gave {value.dtype}: this would be no float64 run.")


def _array(name: str, value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise RunError(f"output {name!r} is a {type(value).__name__}, no tensor.")
    return value
