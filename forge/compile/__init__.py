"""Compile a loaded module for a target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forge.errors import CompileError, InvalidInput

if TYPE_CHECKING:
    from forge.compile.executable import Executable
    from forge.ir import IRModule

OPTIMISATION_LEVELS = ("baseline", "default")


def compile_module(ir: IRModule, target: Any, opt: str) -> Executable:
    """Compile ``ir`` for ``target``; see ``IRModule.compile``."""
    import tvm
    from tvm import relax

    from forge.compile.executable import Executable
    from forge.compile.metadata import Metadata, attach, lower_bounds_of
    from forge.compile.targets import resolve_target

    if opt not in OPTIMISATION_LEVELS:
        raise InvalidInput(
            f"opt={opt!r} is unknown.", hint=f"use one of {', '.join(OPTIMISATION_LEVELS)}"
        )
    resolved, device_kind = resolve_target(target)
    metadata = Metadata(
        ir.inputs, ir.outputs, str(resolved), device_kind, lower_bounds_of(ir.module)
    )
    try:
        # Without this pass LegalizeOps lowers batch_norm with the statistics of the batch.
        module = relax.transform.DecomposeOpsForInference()(ir.module)
        library = tvm.compile(attach(module, metadata), target=resolved)
    except Exception as error:
        raise CompileError(
            f"TVM cannot compile the module for {resolved}: {type(error).__name__}: {error}"
        ) from error
    return Executable(library, metadata)
