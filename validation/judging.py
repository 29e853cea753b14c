"""Compare what two runs of one model gave, by the judges that a case asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np

from forge.accumulation import accumulations
from validation.float64 import Float64Runs
from validation.judges.outputs import compare_outputs
from validation.judges.protocol import Comparison, Context, Judge
from validation.judges.selection import judge_for
from validation.references.protocol import Arrays
from validation.trial import Trial


class Judging:
    """The judges of a case, and what they may ask about its model.

    Args:
        trial: A cell that has been loaded.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._accumulations = accumulations(trial.loaded.module)
        self._float64 = Float64Runs(trial)

    def compare(
        self,
        ours: Mapping[str, np.ndarray],
        reference: Mapping[str, np.ndarray],
        sample: int = 0,
        float64: bool = False,
    ) -> list[Comparison]:
        """Compare two results for one sample, an output each.

        Args:
            ours: Arrays by output name.
            reference: The same from what is taken to be right.
            sample: Which set of inputs gave them.
            float64: Let judges ask for a float64 run of the model.
        """
        contexts: Callable[[str], Context] = lambda output: Context(self._accumulations)  # noqa: E731
        if float64:
            contexts = partial(self._context, sample)
        return compare_outputs(dict(ours), dict(reference), self._judge, contexts, sample)

    def compare_all(
        self,
        ours: Sequence[Arrays],
        references: Sequence[Arrays],
        float64: bool = False,
    ) -> list[Comparison]:
        """Compare the results of all samples."""
        return [
            comparison
            for sample, (mine, theirs) in enumerate(zip(ours, references, strict=True))
            for comparison in self.compare(mine, theirs, sample, float64)
        ]

    def _judge(self, output: str, dtype: np.dtype) -> Judge:
        case = self._trial.case
        return judge_for(output, dtype, case.judges, case.rtol, case.atol)

    def _context(self, sample: int, output: str) -> Context:
        return Context(self._accumulations, lambda: self._float64.output(sample, output))
