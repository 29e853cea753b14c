"""Other kernels for a TFLite model than the interpreter's default ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from forge import MissingFramework
from validation.references.arbiters.protocol import Arbiter
from validation.references.protocol import Arrays, Session
from validation.references.tflite import TFLiteFramework

NO_FLOAT64 = "TFLite has no kernels that compute in float64."


def arbiters(model: Any, options: Mapping[str, Any], threads: int) -> tuple[Arbiter, ...]:
    """List them.

    By default XNNPACK runs what it can and TFLite's optimised kernels the rest. Without it the
    optimised kernels run all, so for that rest they are the reference's own. The reference
    kernels are plain loops, written apart from both. On int8 they differ from XNNPACK by a step
    or two on convolutional networks and by up to 30 on a transformer.
    """
    return tuple(
        Arbiter(name, partial(_session, model, options, threads, resolver), own_kernels=own)
        for name, resolver, own in (
            ("TFLite's reference kernels", "BUILTIN_REF", True),
            ("TFLite without XNNPACK", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", False),
        )
    )


def _session(model: Any, options: Mapping[str, Any], threads: int, resolver: str) -> Session:
    framework = TFLiteFramework()
    specs = framework.inputs(model, options)
    interpreter = _interpreter(model, threads, resolver)
    names = _output_names(model)

    def run(arrays: Mapping[str, np.ndarray]) -> Arrays:
        values = [np.asarray(arrays[spec.name]) for spec in specs]
        inputs = interpreter.get_input_details()
        for detail, value in zip(inputs, values, strict=True):
            if tuple(detail["shape"]) != value.shape:
                interpreter.resize_tensor_input(detail["index"], value.shape)
        interpreter.allocate_tensors()
        for detail, value in zip(inputs, values, strict=True):
            interpreter.set_tensor(detail["index"], value)
        interpreter.invoke()
        return {
            name: np.array(interpreter.get_tensor(detail["index"]))
            for name, detail in zip(names, interpreter.get_output_details(), strict=True)
        }

    return run


def _output_names(model: Any) -> tuple[str, ...]:
    from forge.loaders.tflite import borders
    from forge.prepare.tflite.read_buffer import parse, read_buffer

    names: tuple[str, ...] = borders(parse(read_buffer(model)))[1]
    return names


def _interpreter(model: Any, threads: int, resolver: str) -> Any:
    try:
        from ai_edge_litert import interpreter as runtime
    except ImportError:
        try:
            from tensorflow import lite

            runtime = lite.experimental
            make = lite.Interpreter
        except ImportError as error:
            raise MissingFramework(
                "running a TFLite model natively needs an interpreter, and none is installed.",
                hint="pip install ai-edge-litert",
            ) from error
    else:
        make = runtime.Interpreter
    return make(
        model_content=_content(model),
        num_threads=threads,
        experimental_op_resolver_type=getattr(runtime.OpResolverType, resolver),
    )


def _content(model: Any) -> bytes:
    from forge.prepare.tflite.read_buffer import read_buffer

    return bytes(model if isinstance(model, bytes | bytearray | memoryview) else read_buffer(model))
