from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from validation.isolation.system import kills_for_memory, last_lines, signal_name

STACK = "".join(f'  File "x.cc", line {n}, in call_{n}\n' for n in range(200))


@pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (9, "SIGKILL"), (63, "signal 63")])
def test_names_of_signals(number: int, name: str) -> None:
    assert signal_name(number) == name


class TestLastLines:
    @pytest.fixture
    def said(self, tmp_path: Path) -> Any:
        def said(text: str) -> list[str]:
            (tmp_path / "stderr").write_text(text)
            return last_lines(tmp_path / "stderr").splitlines()

        return said

    def test_the_last_fifteen(self, said: Any) -> None:
        assert said("".join(f"{n}\n" for n in range(100)) + "\n\n") == [
            str(n) for n in range(85, 100)
        ]

    def test_nothing(self, said: Any, tmp_path: Path) -> None:
        assert said("") == []
        assert last_lines(tmp_path / "nowhere") == ""

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        (tmp_path / "stderr").write_bytes(b"\xff\xfe broken\n")
        assert last_lines(tmp_path / "stderr").endswith(" broken")

    def test_endless_lines(self, said: Any) -> None:
        assert said("x" * (1 << 20) + "the end") == ["x" * 293 + "the end"]

    @pytest.mark.parametrize("head", [
        "!!!!!!! Segfault encountered !!!!!!!", "Fatal Python error: Aborted",
    ])  # fmt: skip
    def test_of_a_stack_the_innermost_calls(self, said: Any, head: str) -> None:
        found = said("".join(f"{n}\n" for n in range(100)) + f"{head}\n{STACK}")
        assert found[:11] == [*map(str, range(90, 100)), head]
        assert found[11:] == STACK.rstrip("\n").splitlines()[:14]


def test_processes_killed_for_memory_are_counted() -> None:
    if not os.path.exists("/proc/vmstat"):
        pytest.skip("there is no /proc/vmstat")
    assert kills_for_memory() >= 0


def test_a_child_dies_with_its_parent(tmp_path: Path, ended: Any) -> None:
    code = """
import os, sys, time
from validation.isolation.system import die_with_parent
if not os.fork():
    die_with_parent()
    print(os.getpid(), flush=True)
    time.sleep(1000)
time.sleep(1000)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.communicate(timeout=10)
    assert ended(child)


def test_orphans_are_adopted() -> None:
    code = """
import os, time
from validation.isolation.system import adopt_orphans
adopt_orphans()
reader, writer = os.pipe()
if not os.fork():
    if not os.fork():
        while os.getppid() != {0}:
            time.sleep(0.01)
        os.write(writer, b"adopted")
    os._exit(0)
os.wait()
print(os.read(reader, 100).decode())
""".replace("{0}", "int(os.environ['PARENT'])")
    code = "import os; os.environ['PARENT'] = str(os.getpid())" + code
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "adopted"
