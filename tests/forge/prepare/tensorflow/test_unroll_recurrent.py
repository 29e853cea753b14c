import pytest

from forge.prepare.tensorflow.unroll_recurrent import recurrent_layers, unrolled

pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
layers = keras.layers


def test_wrapped_and_nested_layers_unroll_and_come_back() -> None:
    inner = keras.Sequential([keras.Input((4, 3)), layers.GRU(3, return_sequences=True)])
    inputs = keras.Input((4, 3))
    x = layers.Bidirectional(layers.LSTM(2, return_sequences=True))(inner(inputs))
    model = keras.Model(inputs, layers.SimpleRNN(2, unroll=True)(x))
    found = recurrent_layers(model)
    assert len(found) == 4
    with unrolled(model) as step:
        assert step is not None
        assert step.count == 3
        assert all(layer.unroll for layer in found)
    assert sorted(layer.unroll for layer in found) == [False, False, False, True]


def test_convolutional_cells_are_left_alone() -> None:
    inputs = keras.Input((3, 4, 4, 1))
    model = keras.Model(inputs, layers.ConvLSTM2D(2, 3)(inputs))
    with unrolled(model) as step:
        assert step is None
