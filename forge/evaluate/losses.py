"""Losses: in float64 and rounded once."""

from __future__ import annotations

import numpy as np

from forge.evaluate.indexing import in_range
from forge.evaluate.registry import Invocation, NotEvaluable, operator
from forge.evaluate.values import Value


@operator("nn.cross_entropy_with_logits")
def cross_entropy_with_logits(call: Invocation) -> Value:
    """Sum the products of predictions and labels, negated, over the batch size."""
    predictions, labels = (call.array(index).astype(np.float64) for index in (0, 1))
    batch = predictions.shape[0] if predictions.ndim > 1 else 1
    return np.asarray(-np.sum(predictions * labels) / batch).astype(call.dtype)


@operator("nn.nll_loss")
def nll_loss(call: Invocation) -> Value:
    """Negate the prediction of each target's class, weighted, and reduce."""
    predictions, targets = call.array(0).astype(np.float64), call.array(1)
    axis = 1 if predictions.ndim > 1 else 0
    classes = predictions.shape[axis]
    weights = call.array(2).astype(np.float64) if len(call.args) > 2 else np.ones(classes)
    ignored = targets == int(call.attrs.ignore_index)
    chosen = in_range(np.where(ignored, 0, targets), classes)
    picked = np.take_along_axis(predictions, np.expand_dims(chosen, axis), axis).squeeze(axis)
    weight = np.where(ignored, 0.0, weights[chosen])
    # a prediction of NaN or infinity that is ignored takes no part
    losses = np.where(ignored, 0.0, -picked * weight)
    reduction = str(call.attrs.reduction)
    if reduction == "none":
        return np.asarray(losses).astype(call.dtype)
    if reduction not in ("sum", "mean"):
        raise NotEvaluable(f"reduction {reduction}")
    total = losses.sum() / weight.sum() if reduction == "mean" else losses.sum()
    return np.asarray(total).astype(call.dtype)
