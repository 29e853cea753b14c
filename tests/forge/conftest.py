"""Small models built by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def relax_module() -> Callable[..., Any]:
    """Build a Relax module: ``relax_module({"x": (("N", 3), "float32")}, body)``."""
    import tvm
    from tvm import relax

    def build(inputs: dict[str, tuple[Sequence[Any], str]], body: Callable[..., Any]) -> Any:
        symbols: dict[str, Any] = {}
        params = [
            relax.Var(
                name,
                relax.TensorType(
                    [
                        symbols.setdefault(d, tvm.tirx.Var(d, "int64")) if isinstance(d, str) else d
                        for d in shape
                    ],
                    dtype,
                ),
            )
            for name, (shape, dtype) in inputs.items()
        ]
        builder = relax.BlockBuilder()
        with builder.function("main", params):
            with builder.dataflow():
                result = builder.emit_output(body(builder, *params))
            builder.emit_func_output(result)
        return builder.get()

    return build


@pytest.fixture
def onnx_model() -> Callable[..., Any]:
    """Build an ONNX model: ``onnx_model(nodes, inputs, outputs, initializers, opset, domains)``."""
    import onnx
    from onnx import helper, numpy_helper

    def info(name: str, spec: tuple[Sequence[Any] | None, str]) -> Any:
        shape, dtype = spec
        element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return helper.make_tensor_value_info(name, element, shape)

    def build(
        nodes: Sequence[Any],
        inputs: dict[str, tuple[Sequence[Any] | None, str]],
        outputs: dict[str, tuple[Sequence[Any] | None, str]],
        initializers: dict[str, np.ndarray] | None = None,
        opset: int = 17,
        domains: Sequence[str] = (),
        functions: Sequence[Any] = (),
    ) -> Any:
        graph = helper.make_graph(
            list(nodes),
            "test",
            [info(name, spec) for name, spec in inputs.items()],
            [info(name, spec) for name, spec in outputs.items()],
            [numpy_helper.from_array(a, name) for name, a in (initializers or {}).items()],
        )
        opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
        model: onnx.ModelProto = helper.make_model(
            graph, opset_imports=opsets, ir_version=9, functions=list(functions)
        )
        return model

    return build
