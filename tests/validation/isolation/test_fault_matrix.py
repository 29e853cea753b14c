"""Every fault at every stage: the row says what, where and the last words; no other row suffers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

STAGES = ("build", "reference", "load", "fold", "compile", "run", "compare")
SIGNALS = {
    "segmentation fault": "SIGSEGV",
    "abort": "SIGABRT",
    "division by zero": "SIGFPE",
    "bus error": "SIGBUS",
    "kill": "SIGKILL",
}
REASONS = {
    **dict.fromkeys([*SIGNALS, "exit"], Reason.CRASH),
    "hang": Reason.TIMEOUT,
    "native hang": Reason.TIMEOUT,
    "growth": Reason.OUT_OF_MEMORY,
    "address space": Reason.OUT_OF_MEMORY,
    "full device": Reason.DISK_FULL,
}
TELLS_ITS_STACK = ("segmentation fault", "abort", "division by zero", "bus error")
CELLS = list(itertools.product(REASONS, STAGES))
LAST_WORDS = "the last words"


def fault_named(name: str) -> Callable[..., Any]:
    """Make what does it; a nested function, so that it is pickled by value."""

    def fault(*arguments: Any) -> Any:
        import ctypes
        import os
        import platform
        import resource
        import signal
        import time
        from pathlib import Path

        import numpy as np

        os.write(2, b"noise\nthe last words\n")
        if name == "segmentation fault":
            ctypes.string_at(0)
        elif name == "abort":
            os.abort()
        elif name == "division by zero":
            if platform.machine() == "x86_64":
                ctypes.CDLL(None).div(1, 0)
            os.kill(os.getpid(), signal.SIGFPE)
        elif name == "bus error":
            os.kill(os.getpid(), signal.SIGBUS)
        elif name == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif name == "exit":
            os._exit(3)
        elif name == "hang":
            time.sleep(1000)
        elif name == "native hang":
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock
        elif name == "growth":
            kept = []
            for _ in range(64):
                kept.append(np.ones(4 << 20))  # touched, so that it is resident
            time.sleep(1000)
        elif name == "address space":
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            used = pages * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), resource.RLIM_INFINITY))
            np.ones(64 << 20)
        elif name == "full device":
            os.write(os.open("/dev/full", os.O_WRONLY), b"x")
        raise AssertionError(f"{name} did nothing")

    return fault


def build_with(fault: Callable[..., Any], stage: str, inner: Callable[[], Any]) -> Any:
    """Make a build of a cell that passes, but for the fault at one stage."""

    def build() -> Any:
        if stage == "build":
            fault()
        sample = inner()
        from forge import stages
        from validation import judging
        from validation.references.onnx import ONNXFramework

        def load(*arguments: Any) -> Any:
            for name in ("load", "fold"):
                stages.enter(name)
                if name == stage:
                    fault()
            return loaded

        loaded = ONNXFramework.load()
        ONNXFramework.load = load
        if stage == "reference":
            ONNXFramework.session = fault
        elif stage == "compile":
            type(loaded).compile = fault
        elif stage == "run":
            type(loaded.compile("")).run = fault
        elif stage == "compare":
            judging.accumulations = fault
        return sample

    return build


@pytest.fixture(scope="module")
def rows(tools: SimpleNamespace) -> Iterator[dict[Any, CheckResult]]:
    """Run them all in one pool, with a cell that must pass after each."""
    futures = {}
    before = psutil.Process().children(recursive=True)
    with WorkerPool(jobs=4, modules=lambda framework: tools.LIGHT_SERVER) as pool:
        for name, stage in CELLS:
            build = build_with(fault_named(name), stage, tools.light_build())
            limit = 3.0 if "hang" in name else 60.0
            case = tools.make_case(
                f"onnx/{name}/{stage}", build, time_limit=limit, memory_limit=1500 << 20
            )
            futures[name, stage] = pool.submit(case, "llvm")
            good = tools.make_case(f"onnx/good/{len(futures)}", tools.light_build())
            futures[len(futures)] = pool.submit(good, "llvm")
        yield {key: future.result(timeout=120) for key, future in futures.items()}
    assert psutil.Process().children(recursive=True) == before


@pytest.mark.parametrize(("name", "stage"), CELLS)
def test_the_row_says_what_and_where(rows: dict[Any, CheckResult], name: str, stage: str) -> None:
    row = rows[name, stage]
    assert (row.status, row.stage, row.reason) == (Status.FAIL, Stage(stage), REASONS[name]), row
    assert row.id == f"onnx/{name}/{stage}"
    assert row.signal == SIGNALS.get(name, "")
    assert SIGNALS.get(name, "") in row.message
    assert row.blame
    assert row.versions["onnx"]
    assert row.environment["threads"] == "1"
    if name in ("address space", "full device"):
        assert row.stderr.splitlines()[-1].startswith(("OSError", "MemoryError", "numpy"))
        return
    words = row.stderr.splitlines()
    assert words[:2] == ["noise", LAST_WORDS]
    if name in TELLS_ITS_STACK:
        assert words[2].startswith("Fatal Python error")
        # The innermost call.
        assert "in fault" in row.stderr


def test_every_other_row_is_whole(rows: dict[Any, CheckResult]) -> None:
    good = [row for key, row in rows.items() if isinstance(key, int)]
    assert len(good) == len(CELLS)
    for row in good:
        assert row.status is Status.PASS, row
        assert row.comparisons
        assert row.notes == ()
        assert row.stderr == ""
