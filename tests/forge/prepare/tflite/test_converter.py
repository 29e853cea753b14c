from typing import Any

import pytest

import forge
from forge.prepare.tflite import converter

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")


def test_result_that_the_file_does_not_declare_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its mend ARG_MIN comes from TVM as int64; the file says int32."""
    concrete = tf.function(lambda x: tf.argmin(x, 1, output_type=tf.int32)).get_concrete_function(
        tf.TensorSpec([3, 4])
    )
    model = tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()
    assert forge.from_tflite(model).outputs[0].dtype == "int32"
    monkeypatch.delitem(converter.MENDS, "ARG_MIN")
    with pytest.raises(forge.UnsupportedOperator, match="declares") as error:
        forge.from_tflite(model)
    assert error.value.operators == ("ARG_MIN",)


def test_value_that_is_known_only_at_run_time_is_refused() -> None:
    """TVM reads an axis or a size out of the file, where a computed tensor has no bytes."""

    def function(x: Any, size: Any) -> Any:
        return tf.reduce_sum(tf.pad(x, size), 0)

    concrete = tf.function(function).get_concrete_function(
        tf.TensorSpec([3, 4]), tf.TensorSpec([2, 2], tf.int32)
    )
    model = tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()
    with pytest.raises(forge.UnsupportedOperator, match="only when the model runs") as error:
        forge.from_tflite(model)
    assert error.value.operators == ("PAD",)
