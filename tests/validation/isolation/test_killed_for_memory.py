"""The kernel kills a worker for lack of memory: the row says that it was that."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from validation.isolation.system import kills_for_memory
from validation.vocabulary import Reason, Stage

LIMIT = 700 << 20


@pytest.fixture
def control_group() -> Iterator[Path]:
    """Make a control group of 700 MiB."""
    for root, name in (("memory", "memory.limit_in_bytes"), ("", "memory.max")):
        folder = Path("/sys/fs/cgroup", root, f"forge-test-{os.getpid()}")
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(str(LIMIT))
        except OSError:
            folder.rmdir()
            continue
        yield folder
        folder.rmdir()
        return
    pytest.skip("control groups of memory take privileges that are not there")


def test_an_oom_kill(control_group: Path, check: Any) -> None:
    group = str(control_group / "cgroup.procs")

    def build() -> None:
        import os

        import numpy as np

        with open(group, "w") as stream:
            stream.write(str(os.getpid()))
        os.write(2, b"the last words\n")
        kept = []
        while True:
            kept.append(np.ones(4 << 20))

    before = kills_for_memory()
    row = check(build)
    assert kills_for_memory() > before
    assert (row.stage, row.reason, row.signal) == (Stage.BUILD, Reason.OUT_OF_MEMORY, "SIGKILL")
    assert row.message.startswith("the system killed the worker for lack of memory, ")
    assert row.stderr == "the last words"


def test_a_kill_by_hand_is_none(check: Any, tools: SimpleNamespace) -> None:
    def build() -> None:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)

    row = check(build)
    assert (row.reason, row.signal) == (Reason.CRASH, "SIGKILL")
    assert "as when the system runs out of memory" in row.message
