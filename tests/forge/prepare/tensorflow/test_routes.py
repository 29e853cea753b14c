from collections.abc import Callable
from typing import Any

import pytest

import forge
from forge import InvalidInput, LoadError, TensorSpec, UnsupportedOperator
from forge.prepare.tensorflow import routes
from forge.prepare.tensorflow.signature import UNKNOWN_RANK, Signature, name_structure

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tf2onnx")
pytest.importorskip("tflite")

FIXED = TensorSpec("x", (2, 3), "float32")
OPEN = TensorSpec("x", ("batch", 3), "float32")


def load(function: Callable[..., Any], *specs: TensorSpec) -> Any:
    signature = Signature(lambda flat: function(*flat), specs, name_structure)
    return routes.load(signature, [], {})


def route(ir: Any) -> Any:
    return ir.history[0]


def test_tflite_comes_first() -> None:
    ir = load(lambda x: {"twice": x * 2.0}, FIXED)
    assert route(ir).name == "route: TFLite"
    assert ir.inputs == (FIXED,)
    assert ir.outputs == (TensorSpec("twice", (2, 3), "float32"),)


def test_what_tflite_gets_wrong_goes_through_onnx() -> None:
    ir = load(tf.nn.softplus, FIXED)
    assert route(ir).name == "route: ONNX"
    assert "Softplus" in route(ir).reason


def test_a_failure_of_tflite_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(function: Any) -> bytes:
        raise LoadError("out of order")

    monkeypatch.setattr(routes, "to_tflite", fail)
    ir = load(lambda x: x * 2.0, FIXED)
    assert route(ir).name == "route: ONNX"
    assert "out of order" in route(ir).reason


def test_open_dimensions_go_through_onnx() -> None:
    ir = load(lambda x: x * 2.0, OPEN)
    assert route(ir).name == "route: ONNX"
    assert ir.inputs == (OPEN,)
    assert ir.outputs[0].shape[1] == 3
    assert isinstance(ir.outputs[0].shape[0], str)


def test_open_dimensions_that_onnx_gets_wrong_must_be_given() -> None:
    ints = TensorSpec("x", ("batch", 3), "int32")
    with pytest.raises(InvalidInput, match="cannot stay symbolic") as error:
        load(lambda x: x // 2, ints)
    assert "(1, 3)" in str(error.value.hint)


def test_operators_wrong_in_both_are_named_together() -> None:
    def function(x: Any) -> Any:
        return tf.nn.softplus(x), tf.cast(x, tf.int32) // 2

    with pytest.raises(UnsupportedOperator, match="no route") as error:
        load(function, FIXED)
    assert set(error.value.operators) == {"Softplus", "FloorDiv"}


def test_an_unknown_rank_is_refused() -> None:
    with pytest.raises(InvalidInput, match="rank") as error:
        load(lambda x: x, TensorSpec("x", (UNKNOWN_RANK,), "float32"))
    assert "shape_dict" in str(error.value.hint)


def test_a_route_that_changes_an_output_is_refused() -> None:
    ir = load(lambda x: x * 2.0, FIXED)
    for tensor in (tf.TensorSpec([2, 4]), tf.TensorSpec([2, 3], tf.int32)):
        with pytest.raises(forge.LoadError, match="changed the output 'y'"):
            routes._renamed(ir, [FIXED], ["y"], [tensor], [], route(ir))
    with pytest.raises(forge.LoadError, match="border"):
        routes._renamed(ir, [FIXED, FIXED], ["y"], [tf.TensorSpec([2, 3])], [], route(ir))
