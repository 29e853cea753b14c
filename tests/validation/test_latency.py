from __future__ import annotations

import gc

import pytest

from validation import latency
from validation.latency import measure_in_blocks


class Clock:
    """A clock that calls advance, so that no test depends on the machine's speed."""

    def __init__(self) -> None:
        self.now = 0.0

    def call(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(latency.time, "perf_counter", lambda: clock.now)
    return clock


def test_samples_are_seconds_a_call(clock: Clock) -> None:
    samples = measure_in_blocks({"slow": lambda: clock.call(0.5), "fast": lambda: clock.call(1e-4)})
    assert list(samples) == ["slow", "fast"]
    assert samples["slow"] == pytest.approx((0.5,) * 4)
    assert samples["fast"] == pytest.approx((1e-4,) * 10)


def test_a_call_that_takes_minutes_is_sampled_once(clock: Clock) -> None:
    calls = []

    def call() -> None:
        calls.append(None)
        clock.call(100)

    assert measure_in_blocks({"x": call})["x"] == (100,)
    assert len(calls) == 1


def test_runtimes_are_not_interleaved(clock: Clock) -> None:
    order: list[str] = []

    def call(name: str) -> None:
        order.append(name)
        clock.call(0.01)

    measure_in_blocks({"a": lambda: call("a"), "b": lambda: call("b")})
    assert order == sorted(order)


def test_the_garbage_collector_is_left_as_it_was(clock: Clock) -> None:
    def fail() -> None:
        clock.call(0.1)
        if not gc.isenabled():
            raise RuntimeError("while measured")

    assert gc.isenabled()
    with pytest.raises(RuntimeError):
        measure_in_blocks({"x": fail})
    assert gc.isenabled()
