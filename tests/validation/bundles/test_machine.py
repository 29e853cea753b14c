from __future__ import annotations

import pytest

from validation.bundles.machine import describe, differences, install_command


def test_nothing_secret_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"OMP_NUM_THREADS": "3", "XLA_FLAGS": "--x", "KERAS_BACKEND": "tensorflow"}
    secret = ("AWS_SECRET_ACCESS_KEY", "TF_TOKEN", "HOME", "TVM_PASSWORD", "PIP_INDEX_URL", "USER")
    for name, value in {**kept, **dict.fromkeys(secret, "hidden")}.items():
        monkeypatch.setenv(name, value)
    found = describe(["onnx"])
    assert kept.items() <= found["variables"].items()
    assert "hidden" not in str(found)


def test_versions_and_processor_are_described() -> None:
    found = describe(["onnx", "no-such-distribution"])
    assert {"python", "platform", "numpy", "apache-tvm", "onnx"} <= set(found["versions"])
    assert "no-such-distribution" not in found["versions"]
    assert found["processor"]


def test_the_command_that_installs_the_versions() -> None:
    versions = {"python": "3", "platform": "x", "forge-validation": "0.1", "torch": "2.9+cpu"}
    command = install_command(versions, "torch")
    assert command == "pip install 'forge-validation[torch]==0.1' torch==2.9"


def test_what_differs() -> None:
    then = {
        "versions": {"onnx": "1.20", "numpy": "2.4", "torch": "2.9"},
        "processor": "this",
        "variables": {"OMP_NUM_THREADS": "1", "LANG": "C"},
    }
    now = {
        "versions": {"onnx": "1.21", "numpy": "2.4", "keras": "3"},
        "processor": "that",
        "variables": {"OMP_NUM_THREADS": "8", "XLA_FLAGS": "--x"},
    }
    assert differences(then, then) == []
    assert differences(then, now) == [
        "onnx was 1.20, here it is 1.21",
        "torch was 2.9, and is not installed here",
        "the processor was this, here that",
        "LANG was C, here it is unset",
        "XLA_FLAGS was unset, here it is --x",
    ]
