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


@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
def test_integer_masks_mask_the_right_end_of_each_row(dtype: str) -> None:
    array = draw(dtype, (50, 3, 5), "attention_Mask")
    assert set(np.unique(array)) == {0, 1}
    assert (array[..., 0] == 1).all()
    assert (array[..., -1] == 0).all()
    assert (np.diff(array.astype(int)) <= 0).all()
    assert len(np.unique(array.sum(axis=-1))) > 2
    assert array.dtype == dtype


@pytest.mark.parametrize(("dtype", "name"), [("bool", "x"), ("bool", "mask"), ("float32", "mask")])
def test_booleans_and_other_masks_have_both_in_each_row(dtype: str, name: str) -> None:
    array = draw(dtype, (200, 3), name)
    assert set(np.unique(array)) == {0, 1}
    assert (array.min(axis=1) == 0).all()
    assert (array.max(axis=1) == 1).all()
    assert len(np.unique(array, axis=0)) == 6
    assert array.dtype == dtype


@pytest.mark.parametrize("shape", [(), (3, 1), (0, 4), (4, 0)])
def test_masks_too_short_to_mask(shape: tuple[int, ...]) -> None:
    assert draw("int64", shape, "mask").shape == shape
    assert draw("bool", shape).shape == shape
    assert (draw("int64", shape, "mask") == 1).all()


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


def shapes(*given: tuple[int | str, ...]) -> list[tuple[int, ...]]:
    specs = [TensorSpec(f"i{n}", shape, "float32") for n, shape in enumerate(given)]
    return [array.shape for array in random_inputs(specs).values()]


def test_open_dimensions_are_no_one_and_told_apart() -> None:
    assert shapes(("N", 3, "?")) == [(2, 3, 3)]
    assert shapes(("N", "H", "W")) == [(2, 3, 4)]
    assert shapes(("N", "N")) == [(2, 2)]
    assert shapes(("?", "?")) == [(2, 3)]


def test_a_name_has_one_size_everywhere() -> None:
    assert shapes(("N", "S"), ("S", "T"), ("T", "N")) == [(2, 3), (3, 2), (2, 2)]


def test_dimensions_in_the_same_place_of_several_inputs_meet() -> None:
    # As TensorFlow and some exporters name the dimensions of token ids and their mask.
    assert shapes(("batch", "ids_1"), ("batch", "mask_1")) == [(2, 3), (2, 3)]


class TestLimits:
    def test_integers_stay_within_the_vocabulary_and_reach_its_end(self) -> None:
        specs = [TensorSpec("ids", (2000,), "int64"), TensorSpec("other", (2000,), "int32")]
        arrays = random_inputs(specs, 0, {"ids": 30})
        assert (arrays["ids"].min(), arrays["ids"].max()) == (0, 29)
        assert arrays["other"].max() == 9

    def test_a_small_one(self) -> None:
        array = random_inputs([TensorSpec("ids", (9,), "int64")], 0, {"ids": 1})["ids"]
        assert (array == 0).all()

    def test_of_8_bits(self) -> None:
        specs = [TensorSpec("ids", (2000,), "int8")]
        assert random_inputs(specs, 0, {"ids": 3})["ids"].max() == 2
        array = random_inputs(specs, 0, {"ids": 30000})["ids"]
        assert (array.min(), array.max()) == (0, 127)

    def test_floats_that_index_are_whole(self) -> None:
        array = random_inputs([TensorSpec("ids", (500,), "float32")], 0, {"ids": 20})["ids"]
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, np.floor(array))
        assert (array.min(), array.max()) == (0, 19)

    def test_a_mask_stays_one(self) -> None:
        array = random_inputs([TensorSpec("mask", (9, 4), "int64")], 0, {"mask": 30})["mask"]
        assert array.max() == 1


class TestRanges:
    @pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float32", "float16", "bool"])
    def test_both_ends_are_included_and_nothing_beyond(self, dtype: str) -> None:
        low, high = (0, 1) if dtype == "bool" else (3, 7)
        array = random_inputs([TensorSpec("x", (3000,), dtype)], 0, ranges={"x": (low, high)})["x"]
        assert array.dtype == dtype
        assert array.min() == pytest.approx(low, abs=0.01)
        assert array.max() == pytest.approx(high, abs=0.01)

    def test_it_counts_before_limits_and_names(self) -> None:
        specs = [TensorSpec("mask", (900,), "int64"), TensorSpec("ids", (900,), "int64")]
        ranges = {"mask": (5, 5), "ids": (100, 200)}
        arrays = random_inputs(specs, 0, {"ids": 10}, ranges)
        assert (arrays["mask"] == 5).all()
        assert arrays["ids"].min() == 100

    def test_large_numbers(self) -> None:
        specs = [TensorSpec("x", (64,), "uint64"), TensorSpec("y", (64,), "int64")]
        arrays = random_inputs(specs, 0, ranges={"x": (2**63, 2**64 - 1), "y": (-(2**63), 0)})
        assert arrays["x"].min() >= 2**63
        assert arrays["y"].min() < -(2**60)

    @pytest.mark.parametrize(
        ("dtype", "limits"), [("uint8", (-1, 3)), ("int8", (0, 128)), ("int64", (0.5, 2)),
                              ("bool", (0, 2))]
    )  # fmt: skip
    def test_one_that_does_not_fit(self, dtype: str, limits: tuple[float, float]) -> None:
        with pytest.raises(InvalidInput, match="input x") as caught:
            random_inputs([TensorSpec("x", (4,), dtype)], 0, ranges={"x": limits})
        assert "whole numbers" in str(caught.value.hint)

    def test_one_for_no_input(self) -> None:
        with pytest.raises(InvalidInput, match="'z'") as caught:
            random_inputs([TensorSpec("x", (4,), "float32")], 0, ranges={"z": (0, 1)})
        assert "x" in str(caught.value.hint)


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
