from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import validation
from forge import InvalidInput
from validation.checking import case_of_file, check, options_of_arrays
from validation.vocabulary import Reason, Stage, Status

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)

pytestmark = pytest.mark.usefixtures("shared_pool")


@pytest.fixture
def model(tools: SimpleNamespace) -> Any:
    return tools.onnx_model()


class TestCheck:
    def test_a_model_in_memory(self, model: Any) -> None:
        result = validation.check(model)
        assert result, result.message
        assert result.id == "onnx/in-memory/ModelProto"
        assert len(result.latency["native"]) > 1
        assert len(result.latency["forge"]) > 1

    def test_given_inputs_and_outputs(self, model: Any) -> None:
        good, bad = {"y": np.maximum(X, 0)}, {"y": np.maximum(X, 0.5)}
        assert check(model, {"x": X}, reference=good, latency=False)
        result = check(model, {"x": X}, reference=bad, latency=False)
        assert (result.stage, result.reason) == (Stage.COMPARE, Reason.WRONG_VALUES)
        assert check(model, {"x": X}, reference=bad, atol=0.6, latency=False)

    @pytest.mark.parametrize(("inputs", "text"), [
        ({"z": X}, "unknown input 'z'; missing input 'x'"),
        ({"x": X, "z": X}, "unknown input 'z'"),
        ({}, "missing input 'x'"),
        ({"x": X.astype(np.float64)}, "is float64, not float32"),
        ({"x": X[:, :2]}, "has shape (2, 2), not ('N', 3)"),
        ({"x": X[0]}, "has shape (3,)"),
    ])  # fmt: skip
    def test_inputs_that_do_not_fit(self, model: Any, inputs: Any, text: str) -> None:
        result = check(model, inputs)
        assert result.reason is Reason.INVALID_INPUT
        assert text in result.message
        assert result.stderr == ""

    def test_a_bad_target(self, model: Any) -> None:
        result = check(model, target="no-such-target", latency=False)
        assert result.status is Status.FAIL
        assert result.stage is Stage.COMPILE
        assert "no-such-target" in result.message

    def test_unknown_loader_options_and_shapes(self, model: Any) -> None:
        result = check(model, options={"shape_dict": {"q": (1, 3)}})
        assert (result.stage, result.reason) == (Stage.BUILD, Reason.INVALID_INPUT)
        assert "'q'" in result.message

    def test_a_case(self, tools: SimpleNamespace, model: Any) -> None:
        assert check(tools.make_case("onnx/a/b", tools.build_of(model, {"x": X})))


class TestMisuse:
    @pytest.mark.parametrize("model", ["model.onnx", Path("model.onnx"), None, 3, object()])
    def test_what_is_no_model(self, model: Any) -> None:
        with pytest.raises(InvalidInput, match="no model of a framework"):
            check(model)

    def test_a_path_gets_a_hint(self) -> None:
        with pytest.raises(InvalidInput) as caught:
            check("model.onnx")
        assert "forge check model.onnx" in str(caught.value.hint)

    @pytest.mark.parametrize("given", [
        {"inputs": {"x": X}}, {"reference": {"y": X}}, {"rtol": 0.1}, {"options": {}},
    ])  # fmt: skip
    def test_a_case_with_what_it_should_hold_itself(
        self, tools: SimpleNamespace, given: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidInput, match=next(iter(given))):
            check(tools.make_case("onnx/a/b", int), **given)

    def test_outputs_without_the_inputs_that_give_them(self, model: Any) -> None:
        with pytest.raises(InvalidInput, match="reference needs inputs"):
            check(model, reference={"y": X})

    def test_inputs_of_another_kind(self, model: Any) -> None:
        with pytest.raises(InvalidInput, match="inputs is a list"):
            check(model, [("x", (1, 3))])

    def test_a_tolerance_that_passes_anything(self, model: Any) -> None:
        with pytest.raises(InvalidInput, match="rtol"):
            check(model, rtol=float("nan"))


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    for framework in (None, "onnx"):
        with pytest.raises(InvalidInput, match=r"none\.onnx"):
            case_of_file(tmp_path / "none.onnx", framework=framework)


def test_what_arrays_tell_the_loaders() -> None:
    assert options_of_arrays("onnx", {"x": X}) == {}
    assert options_of_arrays("torch", {"x": X}) == {"input_info": [("x", (2, 3), "float32")]}
    assert options_of_arrays("tflite", {"x": X}) == {"shape_dict": {"x": (2, 3)}}
