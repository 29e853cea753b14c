"""Other runtimes for a model, asked when its reference and Forge differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from validation.references.arbiters.protocol import Arbiter

_FRAMEWORKS = ("onnx", "torch", "tensorflow", "keras", "tflite")


@dataclass(frozen=True)
class Float64Choice:
    """The arbiter that computes a model in float64, or why there is none.

    Attributes:
        arbiter: The first arbiter of the model's that does; None where there is none.
        reason: Why there is none; empty where there is one, whose ``start`` may still refuse.
    """

    arbiter: Arbiter | None
    reason: str = ""


def arbiters_of(
    framework: str, model: Any, options: Mapping[str, Any], threads: int
) -> tuple[Arbiter, ...]:
    """List the arbiters of a model, the most trusted first; none is started.

    Args:
        framework: Its name, such as ``onnx``.
        model: The user's own object; no arbiter changes it.
        options: The keyword arguments of the framework's loader.
        threads: How many threads an arbiter may use.
    """
    if framework not in _FRAMEWORKS:
        return ()
    found: tuple[Arbiter, ...] = _module(framework).arbiters(model, options, threads)
    return found


def float64_run(
    framework: str, model: Any, options: Mapping[str, Any], threads: int
) -> Float64Choice:
    """Choose the arbiter that computes a model in float64."""
    for arbiter in arbiters_of(framework, model, options, threads):
        if arbiter.float64:
            return Float64Choice(arbiter)
    if framework not in _FRAMEWORKS:
        return Float64Choice(None, f"nothing else runs a model of {framework}")
    return Float64Choice(None, _module(framework).NO_FLOAT64)


def _module(framework: str) -> Any:
    return import_module(f"{__name__}.{framework}")
