"""Resolve what a user calls a target into a TVM target and the device kind that runs it."""

from __future__ import annotations

from typing import Any

import tvm

from forge.errors import InvalidInput

# What TVM would ask a GPU for. Without one it must be said, or a schedule asks for none.
_CUDA_WITHOUT_A_GPU = {
    "kind": "cuda",
    "arch": "sm_90",
    "max_num_threads": 1024,
    "max_shared_memory_per_block": 49152,
    "thread_warp_size": 32,
}
_DEVICE_OF_KIND = {"llvm": "cpu", "c": "cpu"}


def resolve_target(target: Any) -> tuple[tvm.target.Target, str]:
    """Give the TVM target and the device kind (``cpu``, ``cuda`` …) of a user's ``target``.

    ``"llvm"`` means the processor at hand, and ``"cuda"`` the GPU at hand or, without one, an
    ``sm_90`` to compile for. Every other value is TVM's to interpret.

    Raises:
        InvalidInput: TVM knows no such target.
    """
    if target == "cuda" and not tvm.cuda().exist:
        target = _CUDA_WITHOUT_A_GPU
    try:
        resolved = tvm.target.Target(target)
    except Exception as error:
        raise InvalidInput(
            f"target={target!r} is not a TVM target: {str(error).splitlines()[-1]}",
            hint="use 'llvm', 'cuda', or a dict such as {'kind': 'llvm', 'mcpu': 'znver4'}",
        ) from error
    kind = str(resolved.kind.name)
    return resolved, _DEVICE_OF_KIND.get(kind, kind)
