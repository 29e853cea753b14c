"""Replay a bundle without its model: the stored IR, compiled here, against the stored reference."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import forge
from forge import InvalidInput, IRModule, TensorSpec
from validation.bundles import layout
from validation.bundles.case_fields import case_of_fields
from validation.bundles.reading import Bundle, read_bundle
from validation.case import BuiltSample, Case, Sample
from validation.cell import EnterStage, Keep, run_cell
from validation.references.protocol import Session
from validation.result import CheckResult


class StoredIR:
    """Stands in for a framework whose loader made the IR of a bundle.

    See ``validation.references.protocol.Framework``; ``model`` is None everywhere.
    """

    name = "stored-ir"
    packages: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def recognises(self, model: object) -> bool:
        return False

    def open(self, path: Path, *, trust: bool) -> Any:
        raise _missing()

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        raise _missing()

    def restore(self, folder: Path) -> Any:
        raise _missing()

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        return self.load(model, options).inputs

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        raise _missing()

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        if not options.get("prepare", True):
            raise _missing()
        if not options.get("fold", True):
            return forge.load(self._bundle.path(layout.UNFOLDED))
        folded = forge.load(self._bundle.path(layout.FOLDED))
        unfolded = None
        if self._bundle.has(layout.UNFOLDED):
            unfolded = forge.load(self._bundle.path(layout.UNFOLDED)).module
        return IRModule(folded.module, folded.inputs, folded.outputs, folded.history, unfolded)


@dataclass(frozen=True)
class WithoutModel:
    """Runs a case that ``case_without_model`` made."""

    folder: Path

    def __call__(self, case: Case, target: Any, enter: EnterStage, keep: Keep) -> CheckResult:
        """Run the cell; the arguments are those of ``run_cell``."""
        framework = StoredIR(read_bundle(self.folder))
        return run_cell(case, target, enter, keep, framework=framework)


@dataclass(frozen=True)
class _StoredInputs:
    folder: Path

    def __call__(self) -> Sample:
        bundle = read_bundle(self.folder)
        count = len(bundle.manifest.reference)
        first, *others = bundle.samples(layout.INPUTS)[:count]
        return BuiltSample(None, first, {}, others)


def case_without_model(bundle: Bundle, **fields: Any) -> Case:
    """Make the case that compares the stored IR with the stored reference.

    Args:
        bundle: A bundle with both.
        fields: Fields of ``Case`` to replace.

    Raises:
        InvalidInput: It has no folded IR, no inputs or no reference.
    """
    bundle.path(layout.FOLDED)
    for kind in (layout.INPUTS, layout.REFERENCE):
        if not getattr(bundle.manifest, kind):
            raise InvalidInput(f"{str(bundle.folder)!r} holds no {kind} to run the IR with.")
    references: list[Mapping[str, np.ndarray]] = [*bundle.samples(layout.REFERENCE)]
    return case_of_fields(
        bundle.manifest.case,
        **{
            "build": _StoredInputs(bundle.folder),
            "reference_outputs": tuple(references),
            "latency": False,
            **fields,
        },
    )


def _missing() -> InvalidInput:
    return InvalidInput("the bundle is replayed without its model.")
