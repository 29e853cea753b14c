"""Tell whoever listens which stage of loading has been entered.

A checker that watches a loader from outside must know whether a crash belongs to
loading or to folding, so the loader says so before it enters each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]
_listener: ContextVar[Listener | None] = ContextVar("forge_stage_listener", default=None)


def enter(stage: str) -> None:
    """Report that a stage (``load`` or ``fold``) is entered."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` with each stage entered inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
