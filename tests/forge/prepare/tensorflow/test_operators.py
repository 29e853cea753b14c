from typing import Any

import pytest

from forge import UnsupportedOperator
from forge.prepare.tensorflow import operators

tf = pytest.importorskip("tensorflow")


def nodes(function: Any, *specs: Any) -> list[Any]:
    concrete = tf.function(function).get_concrete_function(*specs)
    return operators.nodes_of(concrete.graph.as_graph_def())


def test_all_are_named_at_once() -> None:
    spec = tf.TensorSpec([3])
    with pytest.raises(UnsupportedOperator) as error:
        operators.refuse(
            nodes(
                lambda x: x + tf.random.uniform([3]) + tf.py_function(lambda t: t, [x], x.dtype),
                spec,
            )
        )
    assert set(error.value.operators) == {"RandomUniform", "EagerPyFunc"}


def test_operators_inside_functions_are_seen() -> None:
    inner = tf.function(lambda x: tf.nn.softplus(x))
    found = nodes(lambda x: inner(x) * 2.0, tf.TensorSpec([3]))
    assert set(operators.wrong_in_tflite(found)) == {"Softplus"}


@pytest.mark.parametrize(("dtype", "wrong"), [("int32", {"FloorDiv"}), ("float32", set())])
def test_floor_division_is_wrong_for_ints_only(dtype: str, wrong: set[str]) -> None:
    spec = tf.TensorSpec([3], dtype)
    assert set(operators.wrong_in_onnx(nodes(lambda x: x // 2, spec))) == wrong
    operators.refuse(nodes(lambda x: x // 2, spec))


def test_reading_a_variable_is_no_state_before_freezing() -> None:
    variable = tf.Variable([1.0])
    found = nodes(lambda x: x * variable, tf.TensorSpec([3]))
    operators.refuse(found, variables=True)
    with pytest.raises(UnsupportedOperator):
        operators.refuse(found)
