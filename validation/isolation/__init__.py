"""Run cells in child processes, so that a crash or a hang is a row and never the end of a run."""

from validation.isolation.pool import WorkerPool

__all__ = ["WorkerPool"]
