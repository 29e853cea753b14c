"""Find out by measuring whose fault it is that outputs differ.

The model's way to its outputs is cut into pieces, and each piece is compared with the next:

    reference, once more ~ reference           else the reference is unstable
    IR before folding, evaluated ~ reference   else prepare, loader or the reference is wrong
    folded IR ~ IR before folding, evaluated   else folding is wrong
    compiled code ~ folded IR, evaluated       else the compiler is wrong

Where the IR and the reference differ, arbiters decide between them. What cannot be measured is
``unknown``, and the evidence says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from validation.blame.arbitration import Opinion, as_dtypes_of, ask_arbiters, verdict_of
from validation.blame.evaluation import CannotEvaluateError, evaluate_module
from validation.blame.prepared import is_prepare_wrong
from validation.blame.words import difference, is_same
from validation.judging import Judging
from validation.references.protocol import Arrays
from validation.result import CheckResult
from validation.trial import Trial, copies
from validation.vocabulary import Blame, Reason, Stage


def diagnose(trial: Trial, row: CheckResult, judging: Judging) -> CheckResult:
    """Complete the row of a cell whose outputs differ with blame and evidence.

    Args:
        trial: The cell, run to its end.
        row: Its FAIL.
        judging: The judges that found the difference.
    """
    sample = next((c.sample for c in row.comparisons if not c), 0)
    diagnosis = _Diagnosis(trial, judging, sample)
    unstable = diagnosis.unstable_reference()
    if unstable:
        return row.changed(
            stage=Stage.REFERENCE,
            reason=Reason.UNSTABLE_REFERENCE,
            blame=Blame.REFERENCE,
            message=unstable,
            evidence=tuple(diagnosis.evidence),
        )
    blame = diagnosis.blame()
    return row.changed(blame=blame, evidence=tuple(diagnosis.evidence))


class _Diagnosis:
    def __init__(self, trial: Trial, judging: Judging, sample: int) -> None:
        self._trial = trial
        self._judging = judging
        self._sample = sample
        self._inputs: Mapping[str, np.ndarray] = trial.inputs[sample]
        self._reference = trial.references[sample]
        self._ours = trial.ours[sample]
        self.evidence: list[str] = []

    def unstable_reference(self) -> str:
        """Say how the reference differs from itself; empty where it does not."""
        session = self._trial.session
        if session is None:
            return ""
        for how in ("once more", "anew"):
            try:
                run = session if how == "once more" else self._trial.native_session()
                again = run(copies(self._inputs))
            except Exception as error:
                self.evidence.append(f"the reference cannot be run {how}: {error}")
                continue
            if not self._compare(f"reference, run {how}, against itself", again, self._reference):
                return f"the reference, run {how} on the same inputs, gives other outputs"
        return ""

    def blame(self) -> Blame:
        unfolded = self._evaluated_unfolded()
        folded = self._evaluated("folded IR", self._trial.loaded.module)
        ours = self._ours
        faults: list[Blame] = []
        if unfolded is not None and not self._compare(
            "IR before folding, evaluated, against the reference", unfolded, self._reference
        ):
            faults.append(self._loader_or_reference(unfolded))
        if unfolded is not None and folded is not None:
            text = "folded IR against the IR before folding, both evaluated"
            if not self._compare(text, folded, unfolded):
                faults.append(Blame.FOLD)
        if folded is not None and not self._compare(
            "compiled code against the folded IR, evaluated", ours, folded
        ):
            faults.append(Blame.COMPILE)
        if faults:
            return faults[0]
        if unfolded is None or folded is None:
            return self._without_evaluation()
        self.evidence.append("no step differs by more than the tolerance: the differences add up")
        return Blame.UNKNOWN

    def _without_evaluation(self) -> Blame:
        """Find a reference that every arbiter contradicts; nothing else shows without the IR."""
        opinions = self._ask(self._ours, "Forge")
        wrong = verdict_of(opinions) is Blame.REFERENCE
        return Blame.REFERENCE if wrong else Blame.UNKNOWN

    def _loader_or_reference(self, unfolded: Arrays) -> Blame:
        opinions = self._ask(unfolded, "the IR before folding")
        if not opinions and self._trial.session is None:
            self.evidence.append("the outputs were given, and nothing here can confirm them")
            return Blame.UNKNOWN
        blame = verdict_of(opinions)
        if blame is not Blame.LOADER:
            return blame
        wrong = is_prepare_wrong(
            self._trial, self._inputs, self._reference, self._judging, self._sample, self.evidence
        )
        return Blame.PREPARE if wrong else Blame.LOADER

    def _ask(self, ours: Arrays, name: str) -> Sequence[Opinion]:
        return ask_arbiters(
            self._trial,
            self._inputs,
            lambda result: self._judge(result, self._reference),
            lambda result: self._judge(result, ours),
            name,
            self.evidence,
        )

    def _evaluated_unfolded(self) -> Arrays | None:
        try:
            unfolded = self._trial.load(keep_unfolded=True).unfolded
        except Exception as error:
            self.evidence.append(f"the model cannot be loaded again: {error}")
            return None
        return self._evaluated("IR before folding", unfolded)

    def _evaluated(self, name: str, module: object) -> Arrays | None:
        try:
            return evaluate_module(self._trial.loaded, module, self._inputs)
        except CannotEvaluateError as error:
            self.evidence.append(f"{name}: cannot be evaluated: {error}")
            return None

    def _compare(self, text: str, ours: Arrays, reference: Arrays) -> bool:
        comparisons = self._judging.compare(ours, reference, self._sample)
        self.evidence.append(f"{text}: {difference(comparisons)}")
        return is_same(comparisons)

    def _judge(self, ours: Arrays, reference: Arrays) -> tuple[bool, str]:
        comparisons = self._judging.compare(as_dtypes_of(ours, reference), reference, self._sample)
        return is_same(comparisons), difference(comparisons)
