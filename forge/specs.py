"""What a tensor at the border of a model is called and looks like, and what was done to a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from forge.errors import InvalidInput

Dim = int | str


@dataclass(frozen=True)
class TensorSpec:
    """Name, shape and dtype of one input or output.

    Attributes:
        name: The framework's own name (for ``from_torch``, the caller's).
        shape: One entry a dimension: an int, or a str for a symbolic dimension.
        dtype: A numpy dtype name, or ``bfloat16`` and the like.
    """

    name: str
    shape: tuple[Dim, ...]
    dtype: str

    @property
    def is_static(self) -> bool:
        return all(isinstance(dim, int) for dim in self.shape)

    def fits(self, shape: Sequence[int]) -> bool:
        """Tell whether an array's shape is one of this; a symbolic dimension takes any size."""
        return len(shape) == len(self.shape) and all(
            isinstance(dim, str) or dim == size for dim, size in zip(self.shape, shape)
        )

    def __str__(self) -> str:
        dims = "x".join(str(dim) for dim in self.shape) or "scalar"
        return f"{self.name}: {dims} {self.dtype}"


@dataclass(frozen=True)
class Step:
    """One entry of ``IRModule.history``: what a rewrite or a pass did.

    Attributes:
        name: The rewrite or pass.
        reason: Why it ran.
        count: In how many places it changed something.
        details: One line a place where that helps the reader, such as a batch norm that stayed.
    """

    name: str
    reason: str
    count: int = 0
    details: tuple[str, ...] = ()


def describe(specs: Sequence[TensorSpec]) -> str:
    """Say what tensors a model has, in one line of an error message."""
    return ", ".join(str(spec) for spec in specs) or "none"


def check_specs(specs: Sequence[TensorSpec]) -> None:
    """Refuse specs that TVM cannot hold.

    Raises:
        InvalidInput: A dimension that is negative or neither an int nor a name.
    """
    for spec in specs:
        for dim in spec.shape:
            valid = bool(dim) and dim.isidentifier() if isinstance(dim, str) else dim >= 0
            if not valid:
                raise InvalidInput(
                    f"input {spec.name!r} has the dimension {dim!r} in its shape {spec.shape}.",
                    hint="a dimension is an int of at least 0, or a name such as 'N'",
                )
