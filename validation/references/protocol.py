"""What the checker asks of a framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from forge import IRModule, TensorSpec

Arrays = dict[str, np.ndarray]
Session = Callable[[Mapping[str, np.ndarray]], Arrays]


class Framework(Protocol):
    """One framework: how to open its models, run them natively, and load them with Forge.

    An implementation imports its framework inside its methods only, so that all of them
    can be listed where none is installed. ``options`` are always the keyword arguments
    of the framework's loader (``shape_dict``, ``signature``, ``inputs`` …).

    Attributes:
        name: ``onnx``, ``torch``, ``tensorflow``, ``keras`` or ``tflite``.
        packages: Distributions whose versions belong into a result row.
        suffixes: File name endings that ``open`` takes, lower case, with the dot.
    """

    name: str
    packages: tuple[str, ...]
    suffixes: tuple[str, ...]

    def recognises(self, model: object) -> bool:
        """Tell whether an object in memory is a model of this framework, importing nothing."""
        ...

    def open(self, path: Path, *, trust: bool) -> Any:
        """Read a user's model file as the framework's users do.

        Args:
            path: A file, or a folder for a SavedModel.
            trust: Code inside the file (pickles, Lambda layers) may run.

        Raises:
            forge.InvalidInput: Not a readable model; or it needs ``trust`` and has it not.
        """
        ...

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a model in memory so that another process can have the same object.

        The format is private to ``store`` and ``restore``. It is never an intermediate
        of the loader's own route, or a fault of that route could not be seen.
        """
        ...

    def restore(self, folder: Path) -> Any:
        """Read what ``store`` wrote (by this user, moments ago: it is trusted)."""
        ...

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        """Describe the model's inputs, in its order and under its names.

        Shapes given in ``options`` replace the model's own; a dimension that stays open is a str.

        Raises:
            forge.InvalidInput: They cannot be known without more options.
        """
        ...

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        """Make a function that runs the user's own object in its own runtime.

        It takes arrays by input name and returns arrays by output name, in the framework's
        order, under the same names as the loader's ``outputs``.
        """
        ...

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        """Call the framework's Forge loader."""
        ...
