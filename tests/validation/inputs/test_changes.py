from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from validation.inputs.changes import changes_of

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "complex64"]


def changes(array: Any, seed: int = 0) -> list[np.ndarray]:
    return list(changes_of(np.asarray(array), seed))


@given(
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0))
    ),
    st.integers(0, 5),
)
def test_changes_are_of_the_same_kind_and_never_the_array_itself(
    array: np.ndarray, seed: int
) -> None:
    before = array.copy()
    for changed in changes_of(array, seed):
        assert (changed.shape, changed.dtype) == (array.shape, array.dtype)
        assert not np.array_equal(changed, array, equal_nan=array.dtype.kind in "fc")
    np.testing.assert_array_equal(array, before)


@given(hnp.arrays("int64", hnp.array_shapes(), elements=st.integers(0, 6)), st.integers(0, 9))
def test_indices_stay_within_their_vocabulary(array: np.ndarray, seed: int) -> None:
    for changed in changes_of(array, seed):
        assert changed.min() >= 0
        assert changed.max() <= array.max()


def test_the_first_changes_are_another_order_within_rows_and_of_all() -> None:
    array = np.arange(20.0).reshape(4, 5)
    within, anywhere, *_ = changes(array)
    np.testing.assert_array_equal(np.sort(within, axis=-1), array)
    np.testing.assert_array_equal(np.sort(anywhere.ravel()), array.ravel())
    assert (np.sort(anywhere, axis=-1) != array).any()


def test_masks_stay_masks() -> None:
    mask = np.array([[1, 1, 0], [1, 0, 0]])
    assert changes(mask)
    assert all(set(np.unique(changed)) <= {0, 1} for changed in changes(mask))


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.full(3, 4), [[3, 3, 3]]),
        (np.array(True), [False]),
        (np.zeros(3, "int64"), []),
        (np.zeros((0, 2), "float32"), []),
    ],
)
def test_constant_integers_and_booleans(array: np.ndarray, expected: list[Any]) -> None:
    assert [changed.tolist() for changed in changes(array)] == expected


def test_constant_floats_and_zeros_move() -> None:
    for value in (0.0, 2.5, -1e30, np.float32(1e-40)):
        assert changes(np.full(3, value, "float32")), value
    assert changes(np.array([np.nan, 1.0]))


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([[1.0, 2.0], [3.0, 5.0]], ml_dtypes.bfloat16)
    found = changes(array, 3)
    assert {changed.dtype for changed in found} == {np.dtype(ml_dtypes.bfloat16)}
    assert any((changed < 0).any() for changed in found)
    assert sorted(found[0].ravel().tolist()) == [1, 2, 3, 5]


def test_two_vocabularies_in_one_input_are_not_mixed_at_first() -> None:
    indices = np.array([[90, 80, 70], [3, 1, 2]])
    assert (changes(indices)[0][0] >= 70).all()


def test_the_seed_decides() -> None:
    array = np.arange(100)
    np.testing.assert_array_equal(changes(array, 1)[0], changes(array, 1)[0])
    assert not np.array_equal(changes(array, 1)[0], changes(array, 2)[0])
