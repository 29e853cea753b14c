"""Check two ways to one model, and whether they agree: torch → Forge and torch → ONNX → Forge."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from forge import InvalidInput
from validation.case import BuiltSample, Case, Sample
from validation.isolation import WorkerPool
from validation.judges.outputs import compare_outputs
from validation.judges.protocol import Comparison, Context
from validation.judges.selection import judge_for
from validation.kept_outputs import Keeping, KeptOutputs, read_kept
from validation.references import framework_named
from validation.references.protocol import Arrays
from validation.result import CheckResult

# Two routes may sum in another order at every layer.
_ACCUMULATIONS = 10_000


@dataclass(frozen=True)
class Agreement:
    """How two models compare; truthy when both pass and all their outputs agree.

    Attributes:
        row: The check of the first model.
        other: The check of the second on the same inputs; None where the first gave none.
        native: The second model's native outputs against the first's, one comparison an output
            and sample; empty where one of both did not run.
        compiled: The same of what Forge's compiled modules gave.
        operators: By Relax operator, how many the first and the second IR have, where that differs.
    """

    row: CheckResult
    other: CheckResult | None = None
    native: tuple[Comparison, ...] = ()
    compiled: tuple[Comparison, ...] = ()
    operators: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        compared = bool(self.native and self.compiled)
        return bool(self.row and self.other) and compared and all(self.native + self.compiled)


def check_against(
    case: Case, other: Callable[[Mapping[str, np.ndarray]], Case], target: Any
) -> Agreement:
    """Check a model, then another one on the same inputs, and compare their outputs.

    Inputs and outputs correspond by name where both models have the same names, else by position.

    Args:
        case: The first model.
        other: Makes the case of the second model from the first set of inputs.
        target: A TVM target.
    """
    with (
        tempfile.TemporaryDirectory(prefix="forge-against-") as folder,
        WorkerPool(threads=case.threads) as pool,
    ):
        first, second = Path(folder, "first"), Path(folder, "second")
        row = pool.submit(case, target, Keeping(first)).result()
        kept = read_kept(first)
        if kept is None or not kept.inputs:
            return Agreement(row)
        second_case = other(kept.inputs[0])
        build = partial(_build, second_case.build, second_case.framework, kept.inputs)
        second_case = replace(second_case, build=build)
        other_row = pool.submit(second_case, target, Keeping(second)).result()
        theirs = read_kept(second)
    if theirs is None:
        return Agreement(row, other_row)
    return Agreement(
        row,
        other_row,
        _compared(case, theirs.references, kept.references),
        _compared(case, theirs.ours, kept.ours),
        _differences(kept, theirs),
    )


def _build(
    build: Callable[[], Sample], framework: str, inputs: Sequence[Mapping[str, np.ndarray]]
) -> Sample:
    """Build the second model's sample with the first's inputs under its own names."""
    sample = build()
    specs = framework_named(framework).inputs(sample.model, sample.options)
    names = [spec.name for spec in specs]
    given = list(inputs[0])
    if len(names) != len(given):
        raise InvalidInput(
            f"the other model takes {len(names)} inputs ({', '.join(names)}), this one "
            f"{len(given)} ({', '.join(given)}).",
            hint="two ways to one model take the same inputs",
        )
    if set(names) != set(given):
        inputs = [dict(zip(names, each.values(), strict=True)) for each in inputs]
    return BuiltSample(sample.model, inputs[0], sample.options, inputs[1:])


def _compared(
    case: Case, theirs: Sequence[Arrays], ours: Sequence[Arrays]
) -> tuple[Comparison, ...]:
    context = Context(_ACCUMULATIONS)
    return tuple(
        comparison
        for sample, (other, first) in enumerate(zip(theirs, ours))
        for comparison in compare_outputs(
            _renamed(other, first),
            first,
            lambda output, dtype: judge_for(output, dtype, case.judges, case.rtol, case.atol),
            lambda output: context,
            sample,
        )
    )


def _renamed(arrays: Arrays, like: Arrays) -> Arrays:
    if len(arrays) != len(like):
        return arrays
    if set(arrays) == set(like):
        return {name: arrays[name] for name in like}
    return dict(zip(like, arrays.values(), strict=True))


def _differences(first: KeptOutputs, second: KeptOutputs) -> dict[str, tuple[int, int]]:
    names = sorted({*first.operators, *second.operators})
    counts = {n: (first.operators.get(n, 0), second.operators.get(n, 0)) for n in names}
    return {name: pair for name, pair in counts.items() if pair[0] != pair[1]}
