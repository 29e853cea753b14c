"""Make up input values for a model of which only the input specs are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from forge import InvalidInput, TensorSpec

# Not 1, at which a broadcast hides a wrong axis.
_OPEN_DIMENSION = 2
# Below this any vocabulary of token ids is likely to reach.
_INTEGER_LIMIT = 10
_HINT = "give them with --inputs file.npz, or inputs={...}"

Range = tuple[float, float]


def random_inputs(
    specs: Sequence[TensorSpec],
    seed: int = 0,
    limits: Mapping[str, int] | None = None,
    ranges: Mapping[str, Range] | None = None,
) -> dict[str, np.ndarray]:
    """Draw one array an input.

    Floating-point numbers are drawn from a normal distribution, integers from 0 to 9, those of 8
    bits, which carry quantised values, from their whole range. An input whose name says that it is
    a mask is 0 or 1: an integer one is ones, then zeros, in each row, as padding on the right
    makes it. Neither such a row nor one of booleans is all the same.

    Args:
        specs: The inputs. Open dimensions of one input get different sizes, unless they have one
            name; those in the same place of several inputs the same, as they are likely to meet.
        seed: Seed of all values.
        limits: By input name, what integers stay below, such as the size of a vocabulary.
        ranges: By input name, the lowest and the highest value, both included; they count before
            everything else.

    Raises:
        InvalidInput: A dtype that cannot be drawn, or a range that is for no input or does not fit
            its dtype.
    """
    generator = np.random.default_rng(seed)
    given, below = dict(ranges or {}), dict(limits or {})
    unknown = [repr(name) for name in given if name not in {spec.name for spec in specs}]
    if unknown:
        names = ", ".join(spec.name for spec in specs) or "none"
        raise InvalidInput(
            f"a range is given for {', '.join(unknown)}, which is no input of the model.",
            hint=f"its inputs are {names}",
        )
    sizes: dict[str, int] = {}
    return {
        spec.name: _draw(
            spec, _sized(spec, sizes), generator, below.get(spec.name), given.get(spec.name)
        )
        for spec in specs
    }


def _sized(spec: TensorSpec, sizes: dict[str, int]) -> tuple[int, ...]:
    """Give every dimension a size; ``sizes`` remembers those of names."""
    used: set[int] = set()
    shape = []
    for dim in spec.shape:
        if isinstance(dim, str):
            size = sizes.get(dim) if dim.isidentifier() else None
            if size is None:
                size = next(n for n in range(_OPEN_DIMENSION, 99) if n not in used)
                sizes[dim] = size
            used.add(size)
            shape.append(size)
        else:
            shape.append(dim)
    return tuple(shape)


def _draw(
    spec: TensorSpec,
    shape: tuple[int, ...],
    generator: np.random.Generator,
    limit: int | None,
    wanted: Range | None,
) -> np.ndarray:
    dtype = _dtype_of(spec)
    if dtype.kind not in "biufV":
        raise InvalidInput(
            f"no values can be made up for input {spec.name!r} of dtype {spec.dtype}.", hint=_HINT
        )
    if wanted is not None:
        return _within(spec, shape, dtype, generator, wanted)
    masks = "mask" in spec.name.lower()
    if masks and dtype.kind in "iu":
        return _padding(shape, generator).astype(dtype)
    if masks or dtype.kind == "b":
        return _mixed(shape, generator).astype(dtype)
    if dtype.kind in "fV":
        if limit is not None:  # Keras lets floating-point numbers index an Embedding
            return np.asarray(generator.integers(0, max(limit, 1), shape)).astype(dtype)
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    bounds = np.iinfo(dtype)
    if limit is not None:
        most = min(max(limit, 1) - 1, int(bounds.max))
        return np.asarray(generator.integers(0, most, shape, dtype, endpoint=True))
    if dtype.itemsize == 1:
        return np.asarray(generator.integers(bounds.min, bounds.max, shape, dtype, endpoint=True))
    return np.asarray(generator.integers(0, _INTEGER_LIMIT, shape)).astype(dtype)


def _within(
    spec: TensorSpec,
    shape: tuple[int, ...],
    dtype: np.dtype,
    generator: np.random.Generator,
    wanted: Range,
) -> np.ndarray:
    low, high = wanted
    if dtype.kind in "fV":
        return np.asarray(generator.uniform(low, high, shape)).astype(dtype)
    least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    if low != int(low) or high != int(high) or not least <= low <= high <= most:
        raise InvalidInput(
            f"the range {low}:{high} is given for input {spec}.",
            hint=f"give whole numbers from {least} to {most}",
        )
    drawn = np.uint64 if dtype == np.uint64 else np.int64
    values = generator.integers(int(low), int(high), shape, drawn, endpoint=True)
    return np.asarray(values).astype(dtype)


def _padding(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Draw rows of ones, then zeros, with at least one of each where a row is longer than 1."""
    length = shape[-1] if shape else 1
    if length < 2:
        return np.ones(shape, np.int64)
    kept = generator.integers(1, length, (*shape[:-1], 1))
    return np.asarray(np.arange(length) < kept).astype(np.int64)


def _mixed(shape: tuple[int, ...], generator: np.random.Generator) -> np.ndarray:
    """Draw zeros and ones, with at least one of each in a row that is longer than 1."""
    values = np.asarray(generator.integers(0, 2, shape))
    if not shape or shape[-1] < 2 or not values.size:
        return values
    rows = values.reshape(-1, shape[-1])
    same = np.flatnonzero((rows == rows[:, :1]).all(axis=1))
    places = generator.integers(0, shape[-1], same.size)
    rows[same, places] = 1 - rows[same, places]
    return rows.reshape(shape)


def _dtype_of(spec: TensorSpec) -> np.dtype:
    try:
        return np.dtype(spec.dtype)
    except TypeError:
        pass
    try:
        import ml_dtypes

        dtype: np.dtype = np.dtype(getattr(ml_dtypes, spec.dtype))
        return dtype
    except (ImportError, AttributeError, TypeError) as error:
        raise InvalidInput(f"input {spec.name!r} has the unknown dtype {spec.dtype}.") from error
