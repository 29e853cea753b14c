"""End a run in order when a signal asks for it: processes end, files go, and rows stay."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

from validation.isolation.system import signal_name

_ASKING = (signal.SIGTERM, signal.SIGHUP)
_ALL = (signal.SIGINT, *_ASKING)


class _EndedError(BaseException):
    """A signal asks this process to end; no ``Exception``, so that nothing takes it for a fault."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def ended_by_signals() -> Iterator[None]:
    """Have SIGTERM and SIGHUP end the block as Ctrl-C would, its clean-up included.

    Signals that are ignored, as under nohup, stay so. Outside the main thread this does nothing.

    Raises:
        SystemExit: 128 and the signal's number, as shells count: 143 for SIGTERM, 129 for SIGHUP.
    """
    changed = {
        number: _end
        for number in _ASKING
        if _in_main_thread() and signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        with _handlers(changed):
            yield
    except _EndedError as error:
        print(f"ended by {signal_name(error.number)}", file=sys.stderr)
        raise SystemExit(128 + error.number) from None


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Put off SIGINT, SIGTERM and SIGHUP until the block has ended.

    A second Ctrl-C must not interrupt the clean-up that the first one caused.
    """
    came: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        came.append(number)

    held = {n: hold for n in _ALL if _in_main_thread() and callable(signal.getsignal(n))}
    try:
        with _handlers(held):
            yield
    finally:
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


@contextlib.contextmanager
def _handlers(changed: dict[signal.Signals, Any]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number, handler in changed.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(number: int, frame: FrameType | None) -> None:
    raise _EndedError(number)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
