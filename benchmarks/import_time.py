"""Measure what ``import forge`` and ``forge --help`` cost, as ratios to ``import numpy``.

Run it in an environment with only the core dependencies: ``nox -s bench_import``. Exits with 1 when
a ratio is beyond its target.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 15
FORGE = str(Path(sys.executable).parent / "forge")
COMMANDS = {
    "import numpy": [sys.executable, "-c", "import numpy"],
    "import forge": [sys.executable, "-c", "import forge"],
    "forge --help": [FORGE, "--help"],
}
TARGETS = {"import forge": 2.0, "forge --help": 4.0}
HEAVY = ("tvm", "onnx", "torch", "tensorflow", "keras", "tflite")


def seconds(command: list[str]) -> float:
    """Time one whole process."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """Print medians and ratios; the commands run in turn, so that a slow moment hits all."""
    samples: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            samples[name].append(seconds(command))
    numpy = statistics.median(samples["import numpy"])
    missed = 0
    for name, values in samples.items():
        ratio = statistics.median(values) / numpy
        target = TARGETS.get(name)
        beyond = target is not None and ratio > target
        missed += beyond
        limit = f"  target ≤ {target:g}{' MISSED' if beyond else ''}" if target else ""
        print(f"{name:<14} {statistics.median(values) * 1e3:7.1f} ms  ratio {ratio:.2f}{limit}")
    code = f"import json, sys, forge; print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    loaded = json.loads(subprocess.check_output([sys.executable, "-c", code]))
    print(f"imported by import forge: {', '.join(loaded) or 'neither tvm nor a framework'}")
    return int(bool(missed or loaded))


if __name__ == "__main__":
    sys.exit(main())
