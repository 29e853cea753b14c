from __future__ import annotations

import numpy as np
import pytest

from forge import InvalidInput, TensorSpec
from validation.inputs.drawing import random_inputs


def draw(dtype: str, shape: tuple[int | str, ...] = (64, 3), name: str = "x") -> np.ndarray:
    return random_inputs([TensorSpec(name, shape, dtype)])[name]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_floats_have_both_signs(dtype: str) -> None:
    array = draw(dtype)
    assert (array.dtype, array.shape) == (np.dtype(dtype), (64, 3))
    assert (array < 0).any()
    assert (array > 0).any()


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "uint32", "uint64"])
def test_wide_integers_are_small_indices(dtype: str) -> None:
    array = draw(dtype)
    assert array.dtype == dtype
    assert array.min() >= 0
    assert 1 < array.max() < 10


@pytest.mark.parametrize(("dtype", "low", "high"), [("int8", -128, 127), ("uint8", 0, 255)])
def test_bytes_take_their_whole_range(dtype: str, low: int, high: int) -> None:
    array = draw(dtype, (100, 100))
    assert (array.min(), array.max(), array.dtype) == (low, high, np.dtype(dtype))


def test_masks_and_booleans() -> None:
    assert set(np.unique(draw("int64", name="attention_Mask"))) == {0, 1}
    assert draw("bool").dtype == bool


def test_bfloat16() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = draw("bfloat16")
    assert array.dtype == ml_dtypes.bfloat16
    assert np.isfinite(array).all()


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "bool"])
def test_scalars_and_empty_arrays_are_arrays(dtype: str) -> None:
    scalar = draw(dtype, ())
    assert isinstance(scalar, np.ndarray)
    assert (scalar.shape, scalar.dtype) == ((), np.dtype(dtype))
    assert draw(dtype, (0, 3)).shape == (0, 3)


def test_open_dimensions_are_no_one() -> None:
    assert draw("float32", ("N", 3, "?")).shape == (2, 3, 2)


def test_the_seed_decides() -> None:
    specs = [TensorSpec("a", (4,), "float32"), TensorSpec("b", (4,), "float32")]
    first, again, other = random_inputs(specs, 1), random_inputs(specs, 1), random_inputs(specs, 2)
    assert list(first) == ["a", "b"]
    np.testing.assert_array_equal(first["a"], again["a"])
    assert not np.array_equal(first["a"], other["a"])
    assert not np.array_equal(first["a"], first["b"])


@pytest.mark.parametrize("dtype", ["complex64", "str", "string", "nonsense", "object"])
def test_a_dtype_that_cannot_be_drawn(dtype: str) -> None:
    with pytest.raises(InvalidInput, match="'x'"):
        draw(dtype)
