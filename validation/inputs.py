"""Make up input values for a model of which only the input specs are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from forge import InvalidInput, TensorSpec

# An open dimension gets this size: not 1, at which a broadcast hides a wrong axis.
_OPEN_DIMENSION = 2
# Below this any vocabulary of token ids is likely to reach.
_INTEGER_LIMIT = 10


def random_inputs(specs: Sequence[TensorSpec], seed: int = 0) -> dict[str, np.ndarray]:
    """Draw one array an input: floats from a normal distribution, integers from 0 to 9.

    8-bit integers, which carry quantised values, are drawn from their whole range; an input whose
    name says that it is a mask is 0 or 1.

    Raises:
        InvalidInput: A dtype that cannot be drawn.
    """
    generator = np.random.default_rng(seed)
    return {spec.name: _draw(spec, generator) for spec in specs}


def _draw(spec: TensorSpec, generator: np.random.Generator) -> np.ndarray:
    shape = tuple(_OPEN_DIMENSION if isinstance(dim, str) else dim for dim in spec.shape)
    try:
        dtype = np.dtype(spec.dtype)
    except TypeError:
        dtype = _extended_dtype(spec)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        if dtype.itemsize == 1:
            limits = np.iinfo(dtype)
            return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        limit = 2 if "mask" in spec.name.lower() else _INTEGER_LIMIT
        return generator.integers(0, limit, shape).astype(dtype)
    if dtype.kind in "fV":
        return generator.standard_normal(shape).astype(dtype)
    raise InvalidInput(
        f"no values can be made up for input {spec.name!r} of dtype {spec.dtype}.",
        hint="give them with --inputs file.npz, or inputs={...}",
    )


def _extended_dtype(spec: TensorSpec) -> np.dtype:
    try:
        import ml_dtypes

        dtype: np.dtype = np.dtype(getattr(ml_dtypes, spec.dtype))
        return dtype
    except (ImportError, AttributeError) as error:
        raise InvalidInput(f"input {spec.name!r} has the unknown dtype {spec.dtype}.") from error
