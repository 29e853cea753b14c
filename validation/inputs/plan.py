"""How the inputs of a check come about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class InputPlan:
    """Where a check takes its inputs from; it must survive ``cloudpickle``.

    Attributes:
        samples: How many sets of inputs are made up.
        seed: Seed of the first; each further one has the next.
        ranges: Lowest and highest value by input name, both included; others take what fits
            their dtype and name.
        function: Makes one set of inputs, by name, from a seed; nothing is made up then.
    """

    samples: int = 3
    seed: int = 0
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    function: Callable[[int], Mapping[str, np.ndarray]] | None = None
