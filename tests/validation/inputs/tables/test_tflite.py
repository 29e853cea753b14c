from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")

from validation.inputs.tables.tflite import table_sizes  # noqa: E402

TABLE = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)


def converted(function: Any, *specs: Any) -> bytes:
    module = tf.Module()
    module.function = tf.function(function, input_signature=specs)
    concrete = module.function.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    return bytes(converter.convert())


IDS = tf.TensorSpec([2, 3], tf.int32, "ids")


def test_a_gather_from_a_constant() -> None:
    model = converted(lambda ids: tf.gather(tf.constant(TABLE), ids), IDS)
    assert table_sizes(model, {}) == {"serving_default_ids:0": 20}


def test_an_index_that_is_cast_and_reshaped() -> None:
    def function(ids: Any) -> Any:
        return tf.gather(tf.constant(TABLE), tf.reshape(tf.cast(ids, tf.int32), [-1])) * 2

    model = converted(function, tf.TensorSpec([2, 3], tf.int64, "ids"))
    assert table_sizes(model, {}) == {"serving_default_ids:0": 20}


def test_an_embedding_lookup() -> None:
    """The converter makes none of a float table: its inputs stand in the other order."""
    import flatbuffers
    from tensorflow.lite.python import schema_py_generated as schema

    model = converted(
        lambda ids: tf.gather(tf.constant(TABLE), ids), tf.TensorSpec([3], tf.int32, "ids")
    )
    made = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    (operator,) = made.subgraphs[0].operators
    operator.inputs = operator.inputs[::-1]
    operator.builtinOptionsType, operator.builtinOptions = 0, None
    (code,) = made.operatorCodes
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.EMBEDDING_LOOKUP
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), file_identifier=b"TFL3")
    assert table_sizes(bytes(builder.Output()), {}) == {"serving_default_ids:0": 20}


def test_other_gathers_are_left_out() -> None:
    assert (
        table_sizes(converted(lambda ids: tf.gather(tf.constant(TABLE), ids, axis=1), IDS), {})
        == {}
    )
    x = tf.TensorSpec([20, 4], tf.float32, "x")
    assert table_sizes(converted(lambda ids, x: tf.gather(x, ids), IDS, x), {}) == {}
