"""Merge batch norms into the weights of the layer before or after them.

TVM's FoldBatchnormToConv2D takes conv2d without a bias and nothing else, and copies a
convolution that has a second user.
"""

from __future__ import annotations

from typing import Any

from forge.passes import bindings
from forge.passes.merge import Merger
from forge.specs import Step


def fold_batch_norm(module: Any) -> tuple[Any, Step]:
    """Merge inference batch norms into convolutions and matrix products with constant weights.

    A chain of constant scales and shifts a channel counts as one, so that a batch norm which
    a framework took apart into multiply and add folds too, with the bias before it.
    Parameters are combined in float64 and rounded once, to the dtype of the weight.

    Args:
        module: A ``tvm.IRModule``; it is not changed.

    Returns:
        The new module and what was done; the step has a line for every batch norm.
    """
    merger = Merger()

    def rewrite(function: Any) -> Any:
        clean = bindings.remove_unused(function)
        merged = merger.function(clean)
        return function if merged.same_as(clean) else bindings.remove_unused(merged)

    folded = bindings.rewrite_functions(module, rewrite)
    reason = "an inference batch norm is a scale and a shift, which the layer's weights can hold"
    return folded, Step("fold_batch_norm", reason, merger.count, tuple(merger.details))
