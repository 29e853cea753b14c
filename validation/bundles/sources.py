"""Where the model of a case comes from, said so that a bundle can have the very same files.

A ``Case`` may be built by any function; one that is built by these says what to copy, even if the
process dies while it opens the model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from validation.case import BuiltSample, Sample
from validation.inputs.examples import named
from validation.references import framework_named


@dataclass(frozen=True)
class ModelFile:
    """Opens a user's model file as the framework's users do.

    Attributes:
        framework: Its name.
        path: The file, or the folder of a SavedModel; absolute.
        trust: Code inside the file may run.
        samples: Sets of inputs, by name or the only one without; values are made up where there
            are none.
        options: Keyword arguments of the framework's loader.
    """

    framework: str
    path: Path
    trust: bool = False
    samples: Sequence[Mapping[str, np.ndarray]] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> Sample:
        framework = framework_named(self.framework)
        model = framework.open(self.path, trust=self.trust)
        if not self.samples:
            return BuiltSample(model, None, self.options)
        names = [spec.name for spec in framework.inputs(model, self.options)]
        first, *others = (named(each, names) for each in self.samples)
        return BuiltSample(model, first, self.options, others)


@dataclass(frozen=True)
class StoredModel:
    """Restores a model that ``Framework.store`` wrote in another process of this user.

    Attributes:
        framework: Its name.
        folder: What ``store`` wrote.
        inputs: Arrays by name; None has them made up.
        options: Keyword arguments of the framework's loader.
    """

    framework: str
    folder: Path
    inputs: Mapping[str, np.ndarray] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> Sample:
        model = framework_named(self.framework).restore(self.folder)
        return BuiltSample(model, self.inputs, self.options)

    @property
    def samples(self) -> Sequence[Mapping[str, np.ndarray]]:
        """Give what inputs there are, as ``ModelFile`` has them."""
        return () if self.inputs is None else (self.inputs,)
