"""Change an input's values so that it stays an input of its kind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def changes_of(array: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Yield changed copies of an array, one a kind of change; none that equals the array.

    First the same values in another order, within each row and then anywhere: indices stay within
    their vocabulary and masks stay masks. Then, for a model that order means nothing to, other
    values: floating-point ones scaled and shifted, then negated and doubled; integers drawn anew
    from those that occur, or one less where there is a single one; booleans the other way round.

    Args:
        array: Any shape and dtype; nothing is yielded for an empty one, nor for integers that are
            all 0, since no other value is known to be allowed.
        seed: Seed of the order and of what is drawn.
    """
    generator = np.random.default_rng(seed)
    for changed in _kinds(array, generator):
        with np.errstate(over="ignore", invalid="ignore"):
            changed = np.asarray(changed).astype(array.dtype).reshape(array.shape)
        if not _equal(changed, array):
            yield changed


def _kinds(array: np.ndarray, generator: np.random.Generator) -> Iterator[np.ndarray]:
    if not array.size:
        return
    if array.ndim > 1:
        yield generator.permuted(array, axis=-1)
    yield generator.permutation(array.reshape(-1))
    kind = array.dtype.kind
    if kind == "b":
        yield ~array
    elif kind in "iu":
        values = np.unique(array)
        if values.size > 1:
            yield generator.choice(values, array.shape)
        elif values[0] > 0:
            yield array - array.dtype.type(1)
    elif kind in "fcV":
        wide = array.astype(np.complex128 if kind == "c" else np.float64)
        size = np.abs(wide[np.isfinite(wide)]).max(initial=0.0) or 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            changes = (wide * 0.5 + size * 0.25, wide * -2.0)
        yield from changes


def _equal(first: np.ndarray, second: np.ndarray) -> bool:
    equal = first == second
    if first.dtype.kind in "fcV":
        equal |= np.isnan(first) & np.isnan(second)
    return bool(equal.all())
