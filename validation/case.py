"""What a check is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from validation.inputs.plan import InputPlan


class Sample(Protocol):
    """A model and what to run it on; what a zoo entry's ``build`` gives."""

    @property
    def model(self) -> Any:
        """The framework's own object."""
        ...

    @property
    def inputs(self) -> Mapping[str, np.ndarray] | None:
        """One array an input, by name, in the framework's order; None has them made up."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """Keyword arguments of the framework's loader."""
        ...

    @property
    def extra_inputs(self) -> Sequence[Mapping[str, np.ndarray]]:
        """Further inputs for the same compiled module, such as another batch size."""
        ...


@dataclass(frozen=True)
class BuiltSample:
    """A plain ``Sample``."""

    model: Any
    inputs: Mapping[str, np.ndarray] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    extra_inputs: Sequence[Mapping[str, np.ndarray]] = ()


@dataclass(frozen=True)
class Case:
    """One model to check, ready to be sent to a worker process.

    Attributes:
        id: ``<framework>/<family>/<variant>``, or a file's name.
        framework: Whose model it is.
        build: Makes the sample, in the worker. It must survive ``cloudpickle``.
        rtol: Relative tolerance; None takes one that fits the dtype.
        atol: Absolute tolerance; None takes one that fits the output's size.
        time_limit: Seconds after which the worker is ended.
        memory_limit: Resident bytes above which the worker is ended.
        threads: Threads for the native runtime and for the compiled module.
        latency: Measure the latency of both.
        fold: Which folding passes the loader runs.
        judges: By an output's name, or ``*`` for all others, the judge that decides, as
            ``validation.judges.selection.parse_judge`` reads it; the others take a default.
        reference_outputs: Given results to compare with, one mapping for ``inputs`` and one for
            each of ``extra_inputs``; the native runtime is then not run.
        plan: How inputs are made up where the sample brings none.
    """

    id: str
    framework: str
    build: Callable[[], Sample]
    rtol: float | None = None
    atol: float | None = None
    time_limit: float = 300.0
    memory_limit: int = 8 << 30
    threads: int = 1
    latency: bool = True
    fold: bool | tuple[str, ...] = True
    judges: Mapping[str, str] = field(default_factory=dict)
    reference_outputs: tuple[Mapping[str, np.ndarray], ...] | None = None
    plan: InputPlan = field(default_factory=InputPlan)
