"""Measure how long calls take, and keep every sample."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

_SAMPLES = 10
# A sample shorter than this measures the clock and the scheduler more than the call.
_SHORTEST_SAMPLE = 0.01
# A call that takes longer is its own warm-up, and one sample of it must do.
_LONGEST_BLOCK = 2.0


def measure_in_blocks(calls: Mapping[str, Callable[[], object]]) -> dict[str, tuple[float, ...]]:
    """Time each call on its own, one after the other.

    Runtimes are timed in blocks, not in turn: called alternately with TVM, ONNX Runtime's idle
    thread pool makes it look 3.5 times slower.

    Returns:
        Seconds a call, one value a sample; a sample is as many calls as fill 10 ms.
    """
    return {name: _measure(call) for name, call in calls.items()}


def _measure(call: Callable[[], object]) -> tuple[float, ...]:
    once = _seconds(call, 1)
    if once > _LONGEST_BLOCK:
        return (once,)
    once = _seconds(call, 1)
    calls = max(1, int(_SHORTEST_SAMPLE / max(once, 1e-9)))
    samples: list[float] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        while len(samples) < _SAMPLES and (sum(samples) * calls < _LONGEST_BLOCK or not samples):
            samples.append(_seconds(call, calls) / calls)
    finally:
        if collecting:
            gc.enable()
    return tuple(samples)


def _seconds(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return time.perf_counter() - start
