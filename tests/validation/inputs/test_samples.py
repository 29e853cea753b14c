from __future__ import annotations

from typing import Any

import cloudpickle
import numpy as np
import pytest

from forge import InvalidInput, TensorSpec
from validation.inputs import InputPlan, make_inputs
from validation.inputs.drawing import random_inputs

SPECS = (TensorSpec("ids", (2, "S"), "int64"), TensorSpec("x", (2, 3), "float32"))


def test_one_set_a_seed() -> None:
    made = make_inputs(InputPlan(samples=3, seed=5), SPECS, {"ids": 50})
    assert len(made) == 3
    for seed, arrays in enumerate(made, start=5):
        expected = random_inputs(SPECS, seed, {"ids": 50})
        assert list(arrays) == ["ids", "x"]
        for name in arrays:
            np.testing.assert_array_equal(arrays[name], expected[name])
    assert not np.array_equal(made[0]["x"], made[1]["x"])


def test_ranges_count_before_limits() -> None:
    (arrays,) = make_inputs(InputPlan(1, ranges={"ids": (60, 70)}), SPECS, {"ids": 50})
    assert arrays["ids"].min() >= 60


def test_no_samples() -> None:
    with pytest.raises(InvalidInput, match="0 samples"):
        make_inputs(InputPlan(0), SPECS)


@pytest.mark.parametrize("limits", [(2, 1), (float("nan"), 1), (0, float("inf"))])
def test_a_range_without_numbers(limits: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="'x'"):
        make_inputs(InputPlan(1, ranges={"x": limits}), SPECS)


def given(seed: int) -> dict[str, Any]:
    return {"x": np.full((2, 3), seed, "float32"), "ids": np.zeros((2, 7), "int64")}


class TestFunction:
    def test_it_is_called_with_each_seed_and_put_in_order(self) -> None:
        made = make_inputs(InputPlan(2, 4, function=given), SPECS, {"ids": 3})
        assert [list(arrays) for arrays in made] == [["ids", "x"]] * 2
        assert [arrays["x"][0, 0] for arrays in made] == [4, 5]

    @pytest.mark.parametrize(
        ("change", "text"),
        [
            ({"x": None}, "missing input 'x'"),
            ({"z": np.zeros(2)}, "unknown input 'z'"),
            ({"x": np.zeros((2, 3))}, "'x' is float64, not float32"),
            ({"x": np.zeros((2, 4), "float32")}, "'x' has shape (2, 4), not (2, 3)"),
            ({"ids": np.zeros(2, "int64")}, "'ids' has shape (2,), not (2, 'S')"),
        ],
    )
    def test_what_does_not_fit_is_said_with_the_seed(self, change: Any, text: str) -> None:
        def wrong(seed: int) -> dict[str, Any]:
            arrays = {**given(seed), **change}
            return {name: array for name, array in arrays.items() if array is not None}

        with pytest.raises(InvalidInput) as caught:
            make_inputs(InputPlan(1, 7, function=wrong), SPECS)
        assert text in caught.value.message
        assert "wrong with seed 7" in caught.value.message
        assert "ids: 2xS int64" in str(caught.value.hint)

    def test_one_that_fails_or_gives_no_dict(self) -> None:
        def failing(seed: int) -> Any:
            raise KeyError("nothing")

        with pytest.raises(InvalidInput, match=r"failing with seed 0 failed: KeyError: 'nothing'"):
            make_inputs(InputPlan(1, function=failing), SPECS)
        with pytest.raises(InvalidInput, match="gave a list"):
            make_inputs(InputPlan(1, function=lambda seed: [1]), SPECS)  # type: ignore[arg-type]

    def test_a_plan_survives_the_way_into_a_worker(self) -> None:
        plan = cloudpickle.loads(cloudpickle.dumps(InputPlan(1, function=lambda seed: given(seed))))
        assert make_inputs(plan, SPECS)[0]["ids"].shape == (2, 7)
