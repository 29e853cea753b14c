"""Other runtimes for an ONNX model than ONNX Runtime as its users run it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from forge.frameworks import require
from validation.references.arbiters.protocol import Arbiter
from validation.references.protocol import Arrays, Session

NO_FLOAT64 = ""


def arbiters(model: Any, options: Mapping[str, Any], threads: int) -> tuple[Arbiter, ...]:
    """List them.

    Without its graph optimisations ONNX Runtime still runs the same kernels, so a fault of those
    is in both: on CPUs without VNNI its u8 × s8 products saturate in either (measured with 1.32).
    onnx's ReferenceEvaluator shares no code with it.
    """
    return (
        Arbiter(
            "ONNX Runtime without optimisations",
            partial(_runtime, model, options, threads),
            own_kernels=False,
        ),
        Arbiter("onnx's ReferenceEvaluator", partial(_evaluator, model, options, False)),
        Arbiter(
            "onnx's ReferenceEvaluator in float64",
            partial(_evaluator, model, options, True),
            float64=True,
        ),
    )


def _runtime(model: Any, options: Mapping[str, Any], threads: int) -> Session:
    runtime: Any = require("onnxruntime", "running an ONNX model without optimisations")
    settings = runtime.SessionOptions()
    settings.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.intra_op_num_threads = threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 3
    session = runtime.InferenceSession(
        _defined(model, options).SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]

    def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
        return dict(zip(names, session.run(names, dict(inputs)), strict=True))

    return run


def _evaluator(model: Any, options: Mapping[str, Any], float64: bool) -> Session:
    require("onnx", "running an ONNX model in onnx's ReferenceEvaluator")
    from validation.references.arbiters.onnx_evaluator import evaluator_session

    names = [output.name for output in model.graph.output]
    shapes = options.get("shape_dict") or {}
    return evaluator_session(_defined(model, options), shapes, names, float64=float64)


def _defined(model: Any, options: Mapping[str, Any]) -> Any:
    """Copy the model, the user's definitions of operators added as the reference adds them."""
    onnx: Any = require("onnx", "running an ONNX model")
    from forge.prepare.onnx.functions import add_user_functions

    own = onnx.ModelProto()
    own.CopyFrom(model)
    given = options.get("custom_ops") or {}
    functions = {n: f for n, f in given.items() if isinstance(f, onnx.FunctionProto)}
    if functions:
        add_user_functions(own, functions)
        own.ir_version = max(own.ir_version, 8)
    return own
