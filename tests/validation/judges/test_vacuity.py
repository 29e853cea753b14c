from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from validation.judges.vacuity import Reaction, does_not_react, proves_nothing

A = np.arange(6, dtype=np.float32).reshape(2, 3)
IDS = np.array([[3, 1, 4], [1, 5, 2]])
Arrays = Mapping[str, np.ndarray]


class TestVacuous:
    @pytest.mark.parametrize(
        "array",
        [
            np.zeros((0, 3)),
            np.full((2, 2), np.nan),
            np.full(3, np.inf),
            np.full(4, 7),
            np.zeros(2),
            np.full(3, 1 + 1j),
        ],
    )
    def test_an_output_that_shows_no_fault(self, array: np.ndarray) -> None:
        assert proves_nothing({"y": array})

    def test_bfloat16_without_a_finite_value(self) -> None:
        ml_dtypes = pytest.importorskip("ml_dtypes")
        assert proves_nothing({"y": np.full(3, np.nan, ml_dtypes.bfloat16)})
        assert not proves_nothing({"y": np.array([1, 2], ml_dtypes.bfloat16)})

    def test_no_output_at_all(self) -> None:
        assert proves_nothing({})

    @pytest.mark.parametrize(
        "array",
        [
            A,
            np.array([np.nan, 1.0, 1.0]),
            np.array([True, False]),
            np.array(3),
            np.ones(1),
        ],
    )
    def test_an_output_that_can_show_one(self, array: np.ndarray) -> None:
        assert not proves_nothing({"y": array})

    def test_one_telling_output_is_enough(self) -> None:
        assert not proves_nothing({"y": np.zeros(4), "z": A})

    def test_zeros_are_called_by_their_name(self) -> None:
        assert "all zeros" in proves_nothing({"y": np.zeros(3)})
        assert "constant" in proves_nothing({"y": np.ones(3)})
        assert "zeros or constant" not in proves_nothing({"y": np.ones(3)})

    def test_a_discontiguous_array(self) -> None:
        assert not proves_nothing({"y": A.T})


def react(function: Any, inputs: Arrays, seed: int = 0, further: Any = ()) -> Reaction:
    """Ask about a model that is a Python function of arrays."""
    before = {name: array.copy() for name, array in inputs.items()}
    reaction = does_not_react(function, inputs, function(inputs), seed, further)
    for name, array in inputs.items():
        np.testing.assert_array_equal(array, before[name])
    return reaction


class TestReaction:
    def test_a_model_that_heeds_its_inputs(self) -> None:
        reaction = react(lambda x: {"y": x["a"] + x["b"]}, {"a": A, "b": A + 1})
        assert reaction == Reaction()
        assert reaction.notes == ()

    def test_a_model_that_heeds_none(self) -> None:
        reaction = react(lambda x: {"y": A, "z": A + 1}, {"a": A, "b": A})
        assert reaction.vacuous
        assert reaction.still_outputs == ("y", "z")
        assert reaction.idle_inputs == ("a", "b")

    def test_one_output_and_one_input_are_notes(self) -> None:
        reaction = react(lambda x: {"y": x["a"] * 2, "z": A}, {"a": A, "b": A})
        assert not reaction.vacuous
        assert reaction.notes == (
            "output z does not react to the inputs",
            "no output reacts to input b",
        )

    @pytest.mark.parametrize(
        ("function", "array"),
        [
            (lambda x: {"y": x["a"].sum()}, A),  # the same in any order
            (lambda x: {"y": x["a"] * 2}, np.full(4, 3.5, np.float32)),  # constant
            (lambda x: {"y": np.abs(x["a"])}, np.array([2.0, -2.0])),
            (lambda x: {"y": np.sign(x["a"] + 3)}, A),  # far from where it changes
            (lambda x: {"y": ~x["a"]}, np.array([True, True])),
            (lambda x: {"y": x["a"] * 2}, np.array(7)),
            (lambda x: {"y": np.bincount(x["a"].ravel(), minlength=9)}, IDS),
            (lambda x: {"y": x["a"].real}, np.array([1j, 2], "complex64")),
            (lambda x: {"y": x["a"][x["a"] > 1]}, A),  # another shape
            (lambda x: {"y": np.where(x["a"] < 0, np.nan, 1.0)}, A),  # NaN in other places
        ],
    )
    def test_what_no_other_order_shows_another_change_does(self, function: Any, array: Any) -> None:
        assert react(function, {"a": array}) == Reaction()

    def test_integers_stay_within_their_vocabulary(self) -> None:
        table = np.arange(6.0)[:, None] * np.ones(4)

        def embed(x: Arrays) -> dict[str, np.ndarray]:
            assert x["ids"].min() >= 0
            return {"y": table[x["ids"]]}  # raises beyond row 5

        assert react(embed, {"ids": IDS}) == Reaction()
        assert react(embed, {"ids": np.array([5])}) == Reaction()

    def test_integers_that_are_all_zero_are_not_known(self) -> None:
        reaction = react(lambda x: {"y": A}, {"ids": np.zeros(4, "int64")})
        assert reaction == Reaction(("y",), (), ("ids",))
        assert reaction.notes[-1] == "input ids could not be changed"

    def test_a_session_that_fails_on_changed_inputs_is_not_known(self) -> None:
        def fussy(x: Arrays) -> dict[str, np.ndarray]:
            if not np.array_equal(x["a"], A):
                raise RuntimeError("bad input")
            return {"y": A}

        reaction = react(fussy, {"a": A})
        assert not reaction.vacuous
        assert reaction.unknown_inputs == ("a",)

    def test_outputs_that_tell_a_shape(self) -> None:
        def shapes(x: Arrays) -> dict[str, np.ndarray]:
            return {"y": np.array(x["a"].shape)}

        assert not react(shapes, {"a": A}).vacuous
        assert react(shapes, {"a": A}).still_outputs == ("y",)
        assert not react(lambda x: {"y": np.int64(x["a"].size)}, {"a": A}).vacuous
        assert react(lambda x: {"y": np.array([7, 8])}, {"a": A}).vacuous
        assert react(lambda x: {"y": np.array([2.0, 3.0])}, {"a": A}).vacuous

    def test_models_without_inputs_or_without_values(self) -> None:
        assert not react(lambda x: {"y": A}, {}).vacuous
        reaction = react(lambda x: {"y": A}, {"a": np.zeros((0, 3))})
        assert not reaction.vacuous
        assert reaction.unknown_inputs == ("a",)

    def test_inputs_that_only_matter_together(self) -> None:
        def both(x: Arrays) -> dict[str, np.ndarray]:
            moved = not np.array_equal(x["a"], A) and not np.array_equal(x["b"], A)
            return {"y": A + moved}

        reaction = react(both, {"a": A, "b": A})
        assert reaction.still_outputs == ()
        assert not reaction.vacuous

    def test_the_ninth_input_is_changed_together_with_the_others(self) -> None:
        calls = []

        def last(x: Arrays) -> dict[str, np.ndarray]:
            calls.append(1)
            return {"y": x["i9"] * 2}

        inputs = {f"i{number}": A for number in range(10)}
        reaction = react(last, inputs)
        assert not reaction.vacuous
        assert reaction.still_outputs == ()
        assert reaction.idle_inputs == tuple(f"i{number}" for number in range(8))
        assert len(calls) <= 1 + 8 * 4 + 4

    def test_further_samples_show_a_reaction_too(self) -> None:
        def classify(x: Arrays) -> dict[str, np.ndarray]:
            return {"y": np.int64(x["a"].size > 6 and 1)}

        assert react(classify, {"a": A}).vacuous
        assert not react(classify, {"a": A}, further=[{"y": np.int64(1)}]).vacuous
        assert react(classify, {"a": A}, further=[{"y": np.int64(0)}]).vacuous

    def test_a_session_that_writes_to_its_inputs(self) -> None:
        def in_place(x: Arrays) -> dict[str, np.ndarray]:
            result = {"y": x["a"] * 2}
            x["a"][...] = 0
            return result

        reference = in_place({"a": A.copy()})
        inputs = {"a": A.copy()}
        assert does_not_react(in_place, inputs, reference, 0) == Reaction()
        np.testing.assert_array_equal(inputs["a"], A)
