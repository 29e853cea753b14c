"""What ``import forge`` may cost."""

import json
import subprocess
import sys

_HEAVY = ("tvm", "torch", "tensorflow", "keras", "onnx", "onnxruntime", "tflite", "validation")


def test_import_brings_in_neither_tvm_nor_a_framework() -> None:
    code = (
        f"import json, sys, forge; print(json.dumps([n for n in {_HEAVY!r} if n in sys.modules]))"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert json.loads(output) == []
