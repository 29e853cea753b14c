from typing import Any

import pytest

import forge

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")


def test_state_tensors_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fused recurrent operators and SVDF mark their state as variable tensors."""
    import tflite

    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([3]))
    data = tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()
    monkeypatch.setattr(tflite.Tensor, "IsVariable", lambda tensor: True)
    with pytest.raises(forge.UnsupportedOperator, match="state") as error:
        forge.from_tflite(data)
    assert error.value.operators == ("ADD",)


def test_variables_keep_state_between_calls() -> None:
    class Counter(tf.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.count = tf.Variable([0.0])

        @tf.function(input_signature=[tf.TensorSpec([1])])  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            return self.count.assign_add(x) * 2.0

    counter = Counter()
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [counter.__call__.get_concrete_function()], counter
    )
    converter.experimental_enable_resource_variables = True
    with pytest.raises(forge.UnsupportedOperator) as error:
        forge.from_tflite(converter.convert())
    assert {"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE"} <= set(error.value.operators)


def test_dynamic_range_weights() -> None:
    inputs = tf.keras.Input((64,), batch_size=1)
    model = tf.keras.Model(inputs, tf.keras.layers.Dense(64)(inputs))
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    with pytest.raises(forge.UnsupportedOperator, match="dynamic-range") as error:
        forge.from_tflite(converter.convert())
    assert error.value.operators == ("FULLY_CONNECTED",)
