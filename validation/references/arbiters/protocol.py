"""What an arbiter is: another runtime for the same model, asked when reference and Forge differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from validation.references.protocol import Session


@dataclass(frozen=True)
class Arbiter:
    """Another way to run the user's own object, made only when it is asked for.

    Attributes:
        name: For a reader, such as ``ONNX Runtime without optimisations``.
        start: Makes the session. It raises any error where the arbiter cannot run this model;
            the error's text is then shown as the reason.
        float64: Floating-point numbers are computed and returned in float64, whatever the
            model's dtype; inputs are widened.
        own_kernels: Its kernels are not those of the reference: where it agrees with the
            reference, two implementations do.
    """

    name: str
    start: Callable[[], Session]
    float64: bool = False
    own_kernels: bool = True
