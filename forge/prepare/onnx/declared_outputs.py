"""Compare the outputs that TVM imported with what ONNX says they are.

A converter that gets a shape or a dtype wrong (the further outputs of LayerNormalization, a
comparison folded to int32) does so without a word; ONNX's own shape inference knows better.

See https://github.com/apache/tvm/issues/20282.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import helper

from forge import _tvm
from forge.errors import LoadError
from forge.prepare.onnx.inference import inferred_graph


def complete_outputs(graph: Any) -> None:
    """Give outputs without a declared rank an empty shape, in place.

    ONNX's checker demands a shape, ONNX Runtime and TVM do not; nothing of ours reads it.
    """
    for output in graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.shape.SetInParent()


def check_outputs(model: Any, module: Any) -> None:
    """Check rank, static dimensions and dtype of each output of ``module``.

    Args:
        model: The ``onnx.ModelProto`` that was imported.
        module: The ``tvm.IRModule`` made of it.

    Raises:
        LoadError: They contradict each other.
    """
    leaves = _tvm.flatten_type(module["main"].ret_ty)
    declared = inferred_graph(model).output
    for value, leaf in zip(declared, leaves):
        if not isinstance(leaf, _tvm.TensorType):
            raise LoadError(f"output {value.name!r} is imported as {leaf}, which is no tensor.")
        fault = _contradiction(value, leaf)
        if fault:
            raise LoadError(
                f"TVM's ONNX frontend imports output {value.name!r} as {leaf}, but {fault}.",
                hint="the operator that makes it is converted wrong; please report the model",
            )


def _contradiction(value: Any, leaf: Any) -> str:
    tensor = value.type.tensor_type
    if tensor.elem_type:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
        if dtype != _tvm.dtype_of(leaf):
            return f"it is {dtype} in ONNX"
    dims = _tvm.dims_of(leaf)
    if not tensor.HasField("shape") or dims is None:
        return ""
    expected = [d.dim_value if d.HasField("dim_value") else d.dim_param for d in tensor.shape.dim]
    clash = len(expected) != len(dims) or any(
        isinstance(want, int) and isinstance(have, int) and want != have
        for want, have in zip(expected, dims)
    )
    return f"its shape is {tuple(expected)} in ONNX" if clash else ""
