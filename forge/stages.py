"""Tell whoever listens how far a loader has come.

A checker that watches a loader from outside must know whether a crash belongs to loading or to
folding, so the loader says so before it enters each. And it shows what it is about to hand to TVM's
frontend: run natively, that tells a fault of Forge's own rewrites from one of the frontend.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Listener = Callable[[str], None]
Observer = Callable[[str, Any], None]
_listener: ContextVar[Listener | None] = ContextVar("forge_stage_listener", default=None)
_observer: ContextVar[Observer | None] = ContextVar("forge_prepared_observer", default=None)


def enter(stage: str) -> None:
    """Report that a stage (``load`` or ``fold``) is entered."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)


def show_prepared(framework: str, model: Any) -> None:
    """Show a model as it is after Forge's rewrites, before TVM's frontend sees it.

    Args:
        framework: ``onnx``, ``torch`` or ``tflite``, also where the model came from another one.
        model: That framework's own object; it is only looked at.
    """
    observer = _observer.get()
    if observer is not None:
        observer(framework, model)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` with each stage entered inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def observing_prepared(observer: Observer) -> Iterator[None]:
    """Call ``observer`` with each prepared model inside the block; the last is the one loaded."""
    token = _observer.set(observer)
    try:
        yield
    finally:
        _observer.reset(token)
