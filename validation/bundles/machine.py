"""What a bundle was made with, and how the environment at hand differs from it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from validation import environment

# What routes and references use beside the packages that a framework names.
_FURTHER = (
    "cloudpickle",
    "flatbuffers",
    "h5py",
    "ml_dtypes",
    "onnx",
    "onnxscript",
    "protobuf",
    "safetensors",
    "tf2onnx",
    "torchvision",
)
# Names are listed one by one: the values end up in bug reports, and must hold nothing secret.
_VARIABLES = re.compile(
    r"[A-Z_]+_NUM_THREADS|TF_NUM_(INTRA|INTER)OP_THREADS|"
    r"(OMP|KMP|MKL)_(AFFINITY|PLACES|PROC_BIND|DYNAMIC|CBWR|BLOCKTIME|SCHEDULE)|"
    r"TVM_BIND_THREADS|TF_(ENABLE_ONEDNN_OPTS|USE_LEGACY_KERAS|DETERMINISTIC_OPS|XLA_FLAGS)|"
    r"KERAS_BACKEND|XLA_FLAGS|ONEDNN_MAX_CPU_ISA|ATEN_CPU_CAPABILITY|OPENBLAS_CORETYPE|"
    r"CUDA_VISIBLE_DEVICES|CUBLAS_WORKSPACE_CONFIG|NVIDIA_TF32_OVERRIDE|"
    r"MALLOC_ARENA_MAX|PYTHONHASHSEED|LANG|LC_ALL"
)
_NO_PACKAGES = ("python", "platform")


def describe(packages: Iterable[str]) -> dict[str, Any]:
    """Describe the environment at hand as ``environment.json`` has it.

    Args:
        packages: Distributions that matter beside Forge's own.
    """
    names = dict.fromkeys((*packages, *_FURTHER))
    return {
        "versions": environment.versions(names),
        "processor": environment.processor(),
        "variables": {
            name: value for name, value in sorted(os.environ.items()) if _VARIABLES.fullmatch(name)
        },
    }


def install_command(versions: Mapping[str, str], framework: str) -> str:
    """Give the command that installs the recorded versions and what the checker needs.

    A local label such as ``+cpu`` is left out: the plain version finds every build of it.
    """
    extra = {"forge-validation": f"[{framework}]"}
    wanted = [
        f"{name}{extra.get(name, '')}=={version.partition('+')[0]}"
        for name, version in versions.items()
        if name not in _NO_PACKAGES
    ]
    return f"pip install {' '.join(map(shlex.quote, wanted))}"


def differences(recorded: Mapping[str, Any], present: Mapping[str, Any]) -> list[str]:
    """Say what differs between two descriptions, a line a fact."""
    found = []
    for name, version in recorded["versions"].items():
        here = present["versions"].get(name)
        if here is None:
            found.append(f"{name} was {version}, and is not installed here")
        elif here != version:
            found.append(f"{name} was {version}, here it is {here}")
    if recorded["processor"] != present["processor"]:
        found.append(f"the processor was {recorded['processor']}, here {present['processor']}")
    for name in sorted({*recorded["variables"], *present["variables"]}):
        if name.endswith("_THREADS"):  # set for each worker, from the number that the case has
            continue
        was, here = (side["variables"].get(name, "unset") for side in (recorded, present))
        if was != here:
            found.append(f"{name} was {was}, here it is {here}")
    return found
