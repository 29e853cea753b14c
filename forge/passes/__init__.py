"""The folding passes, one a file: each makes a new ``tvm.IRModule`` and says what it did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.specs import Step


def run_passes(module: Any, names: Sequence[str]) -> tuple[Any, tuple[Step, ...]]:
    """Run the named passes (``constants``, ``batch_norm``) in the order that folds most.

    Constants fold first so that batch norm sees weights as constants, and once more
    after it for what it leaves behind. The module given is not changed.
    """
    if not names:
        return module, ()
    from forge.passes.fold_batch_norm import fold_batch_norm
    from forge.passes.fold_constants import fold_constants

    steps: list[Step] = []
    if "constants" in names:
        module, step = fold_constants(module)
        steps.append(step)
    if "batch_norm" in names:
        module, step = fold_batch_norm(module)
        steps.append(step)
        if "constants" in names and step.count:
            module, step = fold_constants(module)
            if step.count:
                steps.append(step)
    return module, tuple(steps)
