"""ONNX models, with ONNX Runtime as the reference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import forge
from forge import IRModule, TensorSpec
from forge.frameworks import is_instance_of, require
from validation.references.protocol import Arrays, Session
from validation.untrusted import limits

_FILE = "model.onnx"


class ONNXFramework:
    """See ``validation.references.protocol.Framework``."""

    name = "onnx"
    packages: tuple[str, ...] = ("onnx", "onnxruntime")
    suffixes: tuple[str, ...] = (".onnx",)

    def recognises(self, model: object) -> bool:
        return is_instance_of(model, "onnx", "ModelProto")

    def open(self, path: Path, *, trust: bool) -> Any:
        """Read a model with its external data; it holds no code, so ``trust`` changes nothing."""
        from validation.untrusted.onnx_models import read_onnx

        limits.confine()
        return read_onnx(path)

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        onnx = require("onnx", "checking an ONNX model")
        onnx.save(model, folder / _FILE, save_as_external_data=model.ByteSize() >= 1 << 31)

    def restore(self, folder: Path) -> Any:
        return require("onnx", "checking an ONNX model").load(folder / _FILE)

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        require("onnx", "checking an ONNX model")
        from forge.prepare.onnx.input_types import apply_input_types, input_specs

        typed = type(model)()
        typed.graph.input.extend(model.graph.input)
        typed.graph.initializer.extend(
            type(tensor)(name=tensor.name) for tensor in model.graph.initializer
        )
        apply_input_types(typed.graph, options.get("shape_dict"), options.get("dtype_dict"))
        return input_specs(typed.graph)

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        runtime = require("onnxruntime", "the ONNX reference")
        settings = runtime.SessionOptions()
        settings.intra_op_num_threads = threads
        settings.inter_op_num_threads = 1
        settings.log_severity_level = 3
        session = runtime.InferenceSession(
            _with_definitions(model, options.get("custom_ops") or {}).SerializeToString(),
            settings,
            providers=["CPUExecutionProvider"],
        )
        names = [output.name for output in session.get_outputs()]

        def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
            return dict(zip(names, session.run(names, dict(inputs)), strict=True))

        return run

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        return forge.from_onnx(model, **options)


def _with_definitions(model: Any, custom_ops: Mapping[str, Any]) -> Any:
    """Give ONNX Runtime the user's definitions of custom operators, as model-local functions.

    The model itself runs, not what the loader made of it. An operator that only a Relax converter
    defines stays unknown to ONNX Runtime, and fails there by name.
    """
    onnx = require("onnx", "checking an ONNX model")
    functions = {n: f for n, f in custom_ops.items() if isinstance(f, onnx.FunctionProto)}
    if not functions:
        return model
    from forge.prepare.onnx.functions import add_user_functions

    defined = onnx.ModelProto()
    defined.CopyFrom(model)
    add_user_functions(defined, functions)
    # ONNX Runtime takes model-local functions from IR version 8 on.
    defined.ir_version = max(defined.ir_version, 8)
    return defined
