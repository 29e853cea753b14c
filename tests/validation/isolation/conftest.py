"""Pools and cases for tests of what happens to processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Status

Check = Callable[..., CheckResult]


@pytest.fixture(scope="module")
def light_pool(tools: SimpleNamespace) -> Iterator[WorkerPool]:
    with WorkerPool(jobs=2, modules=lambda framework: tools.LIGHT_SERVER) as pool:
        yield pool


@pytest.fixture
def good(tools: SimpleNamespace) -> Any:
    return tools.make_case("onnx/good/one", tools.light_build())


@pytest.fixture
def check(light_pool: WorkerPool, tools: SimpleNamespace, good: Any) -> Check:
    """Run a build function in a cell, beside good cells that must pass."""

    def check(build: Callable[[], Any], **fields: Any) -> CheckResult:
        bad = tools.make_case("onnx/bad/one", build, **fields)
        futures = [light_pool.submit(case, "llvm") for case in (good, bad, good, good)]
        rows = [future.result(timeout=100) for future in futures]
        for row in (rows[0], *rows[2:]):
            assert row.status is Status.PASS, row
        assert rows[1].id == "onnx/bad/one"
        assert rows[1].versions["onnx"]
        return rows[1]

    return check


@pytest.fixture
def new_pool(tools: SimpleNamespace) -> Callable[[], WorkerPool]:
    return lambda: WorkerPool(jobs=2, modules=lambda framework: tools.LIGHT_SERVER)


@pytest.fixture
def ended() -> Callable[..., bool]:
    """Tell whether a process is gone, or is but a zombie that nobody has collected."""
    return has_ended


def has_ended(pid: int, seconds: float = 10) -> bool:
    """Tell whether a process is gone, or is but a zombie that its new parent has not collected."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False
