"""Tests of ``validation.references.arbiters`` itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from validation.references.arbiters import arbiters_of, float64_run

FRAMEWORKS = ("onnx", "torch", "tensorflow", "keras", "tflite")


def test_nothing_heavy_is_imported_before_start() -> None:
    program = (
        "import sys\n"
        "from validation.references.arbiters import arbiters_of, float64_run\n"
        f"for framework in {FRAMEWORKS}:\n"
        "    assert arbiters_of(framework, None, {}, 1)\n"
        "    float64_run(framework, None, {}, 1)\n"
        "heavy = {'onnx', 'onnxruntime', 'torch', 'tensorflow', 'keras', 'ai_edge_litert', 'tvm'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_names_tell_arbiters_apart(framework: str) -> None:
    names = [arbiter.name for arbiter in arbiters_of(framework, None, {}, 1)]
    assert len(set(names)) == len(names) >= 2


@pytest.mark.parametrize("framework", ["onnx", "torch", "tensorflow", "keras"])
def test_the_float64_run_is_an_arbiter_in_float64(framework: str) -> None:
    choice = float64_run(framework, None, {}, 1)
    assert choice.arbiter is not None
    assert choice.arbiter.float64
    assert not choice.reason


def test_tflite_has_no_float64_run_and_says_why() -> None:
    choice = float64_run("tflite", b"", {}, 1)
    assert choice.arbiter is None
    assert "float64" in choice.reason
