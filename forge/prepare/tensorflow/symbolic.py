"""Tell whether an imported module follows its symbolic dimensions all the way.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from forge._tvm import TensorType, dims_of, flatten_type
from forge.errors import LoadError


def check_symbolic(module: Any) -> None:
    """Refuse a module in which some tensor's shape is not a function of the inputs' shapes.

    TVM's ONNX frontend imports such a module without a word; it then fails in code generation,
    or is right for one batch size only.

    Raises:
        LoadError: There is such a tensor.
    """
    main = module["main"]
    lost: list[Any] = []  # an error raised inside TVM's visitor would come out as a RuntimeError
    known = {str(var) for param in main.params for var in relax.analysis.tir_vars_in_type(param.ty)}

    def visit(expr: Any) -> None:
        if not isinstance(expr, relax.Var):
            return
        for leaf in flatten_type(expr.ty):
            if not isinstance(leaf, TensorType):
                continue
            if (
                dims_of(leaf) is None
                or not {str(v) for v in relax.analysis.tir_vars_in_type(leaf)} <= known
            ):
                lost.append(leaf)

    relax.analysis.post_order_visit(main.body, visit)
    if lost:
        raise LoadError(f"the shape of a tensor is lost on the way: {lost[0]}")
