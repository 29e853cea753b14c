"""Run a model in float64, to know how far from the truth reference and Forge each are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from validation.blame.evaluation import evaluate_module
from validation.judges.protocol import Float64Run
from validation.references.arbiters import float64_run
from validation.references.protocol import Arrays, Session
from validation.trial import Trial, copies


class Float64Runs:
    """Float64 results of a cell's model, computed when they are asked for.

    The model's own framework, or another implementation of it, computes them where one can; else
    Forge's own IR is evaluated, which is not independent and marked so.

    Args:
        trial: A cell that has been loaded.
    """

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._started = False
        self._session: Session | None = None
        self._source = ""
        self._results: dict[int, tuple[Arrays, str, bool] | None] = {}

    def output(self, sample: int, name: str) -> Float64Run | None:
        """Give one output of one sample; None where no float64 run can be made."""
        if sample not in self._results:
            inputs = self._trial.inputs[sample]
            self._results[sample] = self._independent(inputs) or self._evaluated(inputs)
        result = self._results[sample]
        if result is None or name not in result[0]:
            return None
        arrays, source, independent = result
        array = np.asarray(arrays[name])
        if array.dtype.kind not in "fc":
            return None
        return Float64Run(array.astype(np.float64), source, independent)

    def _independent(self, inputs: Mapping[str, np.ndarray]) -> tuple[Arrays, str, bool] | None:
        if not self._started:
            self._started = True
            self._start()
        if self._session is None:
            return None
        try:
            return self._session(copies(inputs)), self._source, True
        except Exception:
            return None

    def _start(self) -> None:
        trial, sample = self._trial, self._trial.built
        try:
            found = float64_run(
                trial.framework.name, sample.model, sample.options, trial.case.threads
            )
            if found.arbiter is not None:
                self._session, self._source = found.arbiter.start(), found.arbiter.name
        except Exception:
            self._session = None

    def _evaluated(self, inputs: Mapping[str, np.ndarray]) -> tuple[Arrays, str, bool] | None:
        try:
            ir = self._trial.loaded
            result = evaluate_module(ir, ir.module, inputs, np.dtype(np.float64))
        except Exception:  # a verdict does not depend on it
            return None
        return result, "Forge's own IR, evaluated in float64", False
