"""What one cell has come to so far: every stage adds to it, judging and blame read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from forge import IRModule
from validation.case import Case, Sample
from validation.references.protocol import Arrays, Framework, Session


def copies(arrays: Mapping[str, np.ndarray]) -> Arrays:
    """Copy arrays by name: a model that works in place must not change what others are given."""
    return {name: np.array(array) for name, array in arrays.items()}


@dataclass
class Trial:
    """The objects of a cell, in the process that runs it; None or empty until they exist.

    Attributes:
        case: What is checked.
        target: What it is compiled for.
        framework: The model's framework.
        sample: The model, as it was built.
        inputs: One mapping a sample, by input name.
        session: The native runtime; None where results were given.
        references: One mapping a sample, by output name.
        ir: What the loader made.
        executable: The compiled module.
        ours: What it gave, one mapping a sample.
    """

    case: Case
    target: Any
    framework: Framework
    sample: Sample | None = None
    inputs: Sequence[Mapping[str, np.ndarray]] = ()
    session: Session | None = None
    references: list[Arrays] = field(default_factory=list)
    ir: IRModule | None = None
    executable: Any = None
    ours: list[Arrays] = field(default_factory=list)

    @property
    def built(self) -> Sample:
        """The sample, in a stage after it was built."""
        assert self.sample is not None
        return self.sample

    @property
    def loaded(self) -> IRModule:
        """The IR, in a stage after it was loaded."""
        assert self.ir is not None
        return self.ir

    def load(self, **options: Any) -> IRModule:
        """Load the model with the case's options, and further ones."""
        given = {"fold": self.case.fold, **self.built.options, **options}
        return self.framework.load(self.built.model, given)

    def native_session(self) -> Session:
        """Make a new session of the native runtime."""
        model, options = self.built.model, self.built.options
        return self.framework.session(model, options, self.case.threads)
