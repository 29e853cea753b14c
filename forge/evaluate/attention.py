"""Attention over batch, sequence, heads and features, in float64 and rounded once."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


def _attended(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, bias: np.ndarray | None, attrs: Any
) -> np.ndarray:
    if attrs.window_size is not None:
        raise NotEvaluable("attention within a sliding window")
    # to batch, heads, sequence, features
    query, key, value = (part.astype(np.float64).swapaxes(1, 2) for part in (query, key, value))
    scale = 1.0 / math.sqrt(query.shape[-1]) if attrs.scale is None else _number(attrs.scale)
    scores = np.matmul(query, key.swapaxes(2, 3)) * scale
    if bias is not None:
        scores = scores + bias.astype(np.float64)
    if attrs.causal_mask is not None:
        scores = np.where(_visible(scores.shape, str(attrs.causal_mask)), scores, -np.inf)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = powers / powers.sum(axis=-1, keepdims=True)
    return np.asarray(np.matmul(weights, value).swapaxes(1, 2))


def _number(value: Any) -> float:
    return float(getattr(value, "value", value))


def _visible(shape: tuple[int, ...], mask: str) -> np.ndarray:
    rows, columns = shape[-2:]
    if mask not in ("TopLeft", "BottomRight"):
        raise NotEvaluable(f"causal mask {mask}")
    return np.tri(rows, columns, abs(rows - columns) if mask == "BottomRight" else 0, bool)


@operator("nn.attention", "nn.attention_bias")
def attention(call: Invocation) -> Value:
    """Weigh values by the softmax of scaled products of queries and keys."""
    query, key, value = (call.array(index) for index in range(3))
    bias = call.array(3) if len(call.args) > 3 else None
    return _attended(query, key, value, bias, call.attrs).astype(call.dtype)


@operator("nn.attention_var_len")
def attention_var_len(call: Invocation) -> Value:
    """Attend within each of the sequences that lie one behind another in a batch of one."""
    query, key, value = (call.array(index) for index in range(3))
    starts, key_starts = (call.array(index).astype(np.int64) for index in (3, 4))
    parts = [
        _attended(
            query[:, first:last],
            key[:, key_first:key_last],
            value[:, key_first:key_last],
            None,
            call.attrs,
        )
        for first, last, key_first, key_last in zip(
            starts, starts[1:], key_starts, key_starts[1:], strict=False
        )
    ]
    return np.concatenate(parts, axis=1).astype(call.dtype)
