"""Find out whose fault it is that a model fails in its own runtime."""

from __future__ import annotations

from validation.blame.arbitration import arbiters_for, as_dtypes_of
from validation.blame.words import difference, is_same
from validation.judging import Judging
from validation.reasons import text_of
from validation.references.protocol import Arrays
from validation.result import CheckResult
from validation.trial import Trial, copies
from validation.vocabulary import Blame


def diagnose_failed_reference(trial: Trial, row: CheckResult) -> CheckResult:
    """Complete the row of a cell whose reference raised an error with blame and evidence.

    The reference is at fault where an arbiter runs the model; Forge's own results are then
    compared with the arbiter's. Where no other runtime can run it either, and Forge cannot load
    it, the model itself is taken to be broken: ``inputs``.

    Args:
        trial: The cell; ``ir`` is there where Forge can load the model.
        row: Its FAIL at the reference.
    """
    evidence = list(row.evidence)
    for arbiter in arbiters_for(trial):
        try:
            session = arbiter.start()
            results = [session(copies(each)) for each in trial.inputs]
        except Exception as error:
            evidence.append(f"arbiter {arbiter.name}: cannot run the model: {text_of(error)[:300]}")
            continue
        evidence.append(f"arbiter {arbiter.name}: runs the model")
        return _compared(trial, row, results, arbiter.name, evidence)
    blame = Blame.UNKNOWN if trial.ir is not None else Blame.INPUTS
    return row.changed(blame=blame, evidence=tuple(evidence))


def _compared(
    trial: Trial, row: CheckResult, results: list[Arrays], arbiter: str, evidence: list[str]
) -> CheckResult:
    row = row.changed(blame=Blame.REFERENCE)
    if trial.ir is not None:
        try:
            executable = trial.ir.compile(trial.target)
            ours = [executable.run(each) for each in trial.inputs]
        except Exception as error:
            evidence.append(f"Forge cannot run it: {text_of(error)}")
        else:
            rounded = [as_dtypes_of(*pair) for pair in zip(results, ours, strict=True)]
            comparisons = Judging(trial).compare_all(ours, rounded)
            words = "the same as" if is_same(comparisons) else "something else than"
            evidence.append(f"Forge gives {words} the arbiter: {difference(comparisons)}")
            row = row.changed(
                comparisons=tuple(comparisons),
                message=f"{row.message}; {arbiter} runs the model, and Forge gives {words} it",
            )
    return row.changed(evidence=tuple(evidence))
