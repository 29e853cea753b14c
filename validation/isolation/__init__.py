"""Run cells in child processes, so that a crash or a hang is a row and never the end of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.isolation.pool import WorkerPool

__all__ = ["WorkerPool"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: a server must say what it imports before it imports anything."""
    if name != "WorkerPool":
        raise AttributeError(f"module 'validation.isolation' has no attribute {name!r}")
    from validation.isolation.pool import WorkerPool

    return WorkerPool
