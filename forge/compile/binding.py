"""Check arrays against the inputs a model declares, before they reach native code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from forge.errors import InvalidInput
from forge.specs import TensorSpec, describe


def bind_arrays(
    specs: Sequence[TensorSpec],
    arrays: Mapping[str, Any],
    lower_bounds: Mapping[str, int] | None = None,
) -> list[np.ndarray]:
    """Put arrays into the order of ``specs``.

    Args:
        specs: What the model takes.
        arrays: One array an input, by name.
        lower_bounds: The least size of symbolic dimensions, where it is not 1.

    Raises:
        InvalidInput: A missing or unknown name, a wrong dtype or shape, two values for one
            symbolic dimension, or one below its bound; all faults at once.
    """
    faults = [f"unknown input {name!r}" for name in arrays if name not in {s.name for s in specs}]
    sizes: dict[str, tuple[int, str]] = {}
    bound: list[np.ndarray] = []
    for spec in specs:
        if spec.name not in arrays:
            faults.append(f"missing input {spec.name!r}")
            continue
        array = np.asarray(arrays[spec.name])
        bound.append(array)
        faults += _faults_of(spec, array, sizes)
    for dim, (size, where) in sizes.items():
        # TVM's reductions and products over nothing give uninitialised memory (PR 19680).
        bound_below = max(1, (lower_bounds or {}).get(dim, 1))
        if size < bound_below:
            faults.append(
                f"dimension {dim!r} is {size} in input {where!r}, "
                f"and the compiled model is right from {bound_below} on"
            )
    if faults:
        raise InvalidInput(f"{'; '.join(faults)}.", hint=f"the model takes {describe(specs)}")
    return bound


def _faults_of(spec: TensorSpec, array: np.ndarray, sizes: dict[str, tuple[int, str]]) -> list[str]:
    faults = []
    if array.dtype.name != spec.dtype:
        faults.append(f"input {spec.name!r} is {array.dtype.name}, not {spec.dtype}")
    if not spec.fits(array.shape):
        return [*faults, f"input {spec.name!r} has shape {array.shape}, not {spec.shape}"]
    for dim, size in zip(spec.shape, array.shape):
        if isinstance(dim, str) and dim.isidentifier():
            known, where = sizes.setdefault(dim, (size, spec.name))
            if known != size:
                faults.append(
                    f"dimension {dim!r} is {known} in input {where!r} and {size} in {spec.name!r}"
                )
    return faults
