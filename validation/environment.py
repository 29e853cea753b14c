"""What a result was measured with: versions and the machine."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib import metadata

_ALWAYS = ("forge-validation", "apache-tvm", "apache-tvm-ffi", "numpy")


def versions(packages: Iterable[str] = ()) -> dict[str, str]:
    """Give the version of each distribution that is installed, of Python and of the platform."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for name in (*_ALWAYS, *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def processor() -> str:
    """Name the processor and how many of its threads this process may use."""
    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [
                line.partition(":")[2].strip() for line in stream if line.startswith("model name")
            ]
        model = names[0] if names else model
    except OSError:
        pass
    has_affinity = hasattr(os, "sched_getaffinity")
    threads = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    return f"{model}, {threads} threads"
