"""Keep what a cell computed in files, so that another process can compare it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from validation.bundles.arrays import read_arrays, write_arrays
from validation.case import Case
from validation.cell import EnterStage, Keep, run_cell
from validation.references.protocol import Arrays
from validation.result import CheckResult
from validation.trial import Trial
from validation.untrusted.limits import allow

_RECORD = "kept.json"
_KINDS = ("inputs", "references", "ours")


@dataclass(frozen=True)
class KeptOutputs:
    """What a cell computed, one mapping a sample in each list.

    Attributes:
        inputs: By input name.
        references: What the native runtime gave, by output name; empty where it did not run.
        ours: What the compiled module gave; empty where the cell did not come so far.
        operators: Relax operators of the folded module, with their counts.
    """

    inputs: Sequence[Arrays]
    references: Sequence[Arrays]
    ours: Sequence[Arrays]
    operators: Mapping[str, int]


@dataclass(frozen=True)
class Keeping:
    """Runs a cell as ``run_cell`` does, and writes what it computed into a new folder.

    Attributes:
        folder: Where to; absolute, and nothing lies there yet.
    """

    folder: Path

    def __call__(self, case: Case, target: Any, enter: EnterStage, keep: Keep) -> CheckResult:
        """Run the cell; the arguments are those of ``run_cell``."""
        allow(self.folder.parent)
        return run_cell(case, target, enter, keep, self._write)

    def _write(self, trial: Trial, row: CheckResult) -> CheckResult:
        self.folder.mkdir()
        record: dict[str, object] = {"operators": dict(trial.ir.operators) if trial.ir else {}}
        for kind in _KINDS:
            sets: Sequence[Mapping[str, np.ndarray]] = getattr(trial, kind)
            record[kind] = [
                write_arrays(self.folder / f"{kind}-{number}.npz", arrays)
                for number, arrays in enumerate(sets)
            ]
        (self.folder / _RECORD).write_text(json.dumps(record), encoding="utf-8")
        return row


def read_kept(folder: Path) -> KeptOutputs | None:
    """Read what ``Keeping`` wrote; None where the cell ended before it could."""
    if not (folder / _RECORD).is_file():
        return None
    record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
    inputs, references, ours = (
        [
            read_arrays(folder / f"{kind}-{number}.npz", described)
            for number, described in enumerate(record[kind])
        ]
        for kind in _KINDS
    )
    return KeptOutputs(inputs, references, ours, record["operators"])
