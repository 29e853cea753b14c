"""Comparisons and logic, whose results are bool, and selection by them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


def _register(name: str, function: Callable[[Any, Any], Any]) -> None:
    @operator(name)
    def evaluate(call: Invocation) -> Value:
        left, right = call.pair()
        return np.asarray(function(left, right), dtype=np.bool_)


for _name, _function in {
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}.items():
    _register(_name, _function)


@operator("where")
def where(call: Invocation) -> Value:
    """Select between two tensors of one dtype by a bool tensor."""
    condition, left, right = call.array(0), call.array(1), call.array(2)
    if left.dtype != right.dtype:
        raise NotEvaluable(f"operands are {left.dtype} and {right.dtype}")
    return np.where(condition.astype(np.bool_), left, right)
