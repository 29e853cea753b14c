from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

from validation.isolation.signals import ended_by_signals, held_signals


def run(code: str) -> subprocess.CompletedProcess[str]:
    head = (
        "import os, signal, sys, time\n"
        "from validation.isolation.signals import ended_by_signals, held_signals\n"
    )
    return subprocess.run(
        [sys.executable, "-c", head + code], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_block_ends_in_order(name: str, code: int) -> None:
    done = run(f"""
with ended_by_signals():
    try:
        os.kill(os.getpid(), signal.{name})
        time.sleep(1000)
    except Exception:
        print("taken for a fault")
    finally:
        print("cleaned up")
""")
    assert done.returncode == code
    assert done.stdout == "cleaned up\n"
    assert done.stderr == f"ended by {name}\n"


def test_what_is_ignored_stays_so() -> None:
    done = run("""
signal.signal(signal.SIGHUP, signal.SIG_IGN)
with ended_by_signals():
    os.kill(os.getpid(), signal.SIGHUP)
print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)
""")
    assert (done.returncode, done.stdout) == (0, "True\n")


@pytest.mark.parametrize("outside", [True, False])
def test_a_clean_up_is_not_interrupted(outside: bool) -> None:
    done = run(f"""
def clean():
    with held_signals():
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.01)
        print("cleaned up")
    print("not reached")

try:
    if {outside}:
        with ended_by_signals():
            clean()
    else:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        clean()
except KeyboardInterrupt:
    print("interrupted")
""")
    assert done.stdout == "cleaned up\ninterrupted\n", done.stderr


def test_handlers_come_back() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    with ended_by_signals(), held_signals():
        pass
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_other_threads_may_use_them() -> None:
    found: list[Any] = []

    def work() -> None:
        with ended_by_signals(), held_signals():
            found.append(os.getpid())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found
