"""Turn an error of any stage into the words of a verdict."""

from __future__ import annotations

import errno
import traceback

import forge
from validation.vocabulary import Reason, Stage

_REASON_OF_STAGE = {
    Stage.ENVIRONMENT: Reason.ENVIRONMENT_ERROR,
    Stage.BUILD: Reason.ENVIRONMENT_ERROR,
    Stage.REFERENCE: Reason.REFERENCE_ERROR,
    Stage.LOAD: Reason.FRONTEND_ERROR,
    Stage.FOLD: Reason.FOLD_ERROR,
    Stage.COMPILE: Reason.COMPILE_ERROR,
    Stage.RUN: Reason.RUN_ERROR,
    Stage.COMPARE: Reason.ENVIRONMENT_ERROR,
    Stage.LATENCY: Reason.RUN_ERROR,
}
_REASON_OF_ERROR: tuple[tuple[type[BaseException], Reason], ...] = (
    (MemoryError, Reason.OUT_OF_MEMORY),
    (forge.MissingFramework, Reason.MISSING_FRAMEWORK),
    (forge.UnsupportedOperator, Reason.UNSUPPORTED_OPERATOR),
    (forge.InvalidInput, Reason.INVALID_INPUT),
    (forge.LoadError, Reason.FRONTEND_ERROR),
    (forge.FoldError, Reason.FOLD_ERROR),
    (forge.CompileError, Reason.COMPILE_ERROR),
    (forge.RunError, Reason.RUN_ERROR),
)


def reason_of(error: BaseException, stage: Stage) -> Reason:
    """Find the reason of a verdict for an error that was raised in a stage."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return Reason.DISK_FULL
    for kind, reason in _REASON_OF_ERROR:
        if isinstance(error, kind):
            return reason
    return _REASON_OF_STAGE[stage]


def text_of(error: BaseException) -> str:
    """Say what an error says, with its type where it is not one of Forge's."""
    return str(error) if isinstance(error, forge.ForgeError) else f"{type(error).__name__}: {error}"


def trace_of(error: BaseException, count: int = 15) -> str:
    """Give the last lines of a traceback; none for an error that says it all."""
    if isinstance(error, (forge.InvalidInput, forge.MissingFramework, forge.UnsupportedOperator)):
        return ""
    return "\n".join("".join(traceback.format_exception(error)).rstrip().splitlines()[-count:])
