from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import forge
from forge.loaders.keras import keras_signature

pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")
layers = keras.layers

RNG = np.random.default_rng(5)


def randomised(model: Any) -> Any:
    """Give every weight a value at which a fault would show, batch norm statistics too."""
    for weight in model.weights:
        if "variance" in weight.path:
            weight.assign(RNG.uniform(0.5, 2, weight.shape))
        elif "seed" not in weight.path:
            weight.assign(RNG.standard_normal(weight.shape) * 0.3)
    return model


def conv_bn() -> Any:
    inputs = keras.Input((8, 7, 3))
    x = layers.Conv2D(4, 3, padding="same", strides=2)(inputs)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(5, 3, padding="same")(x)
    x = layers.BatchNormalization()(x)
    return keras.Model(inputs, layers.Dense(3, "softmax")(layers.GlobalAveragePooling2D()(x)))


def depthwise() -> Any:
    inputs = keras.Input((6, 5, 3))
    x = layers.DepthwiseConv2D(3, depth_multiplier=2)(layers.BatchNormalization()(inputs))
    return keras.Model(inputs, layers.Flatten()(x))


def recurrent() -> Any:
    inputs = keras.Input((4, 3))
    x = layers.Bidirectional(
        layers.LSTM(3, return_sequences=True, recurrent_activation="hard_sigmoid")
    )(inputs)
    return keras.Model(inputs, layers.GRU(2)(x))


def masked() -> Any:
    inputs = keras.Input((4,), dtype="int32")
    return keras.Model(inputs, layers.LSTM(3)(layers.Embedding(9, 3, mask_zero=True)(inputs)))


def transposed() -> Any:
    inputs = keras.Input((4, 5, 3))
    x = layers.Conv2DTranspose(4, 3, strides=2, padding="same", activation="relu")(inputs)
    return keras.Model(inputs, x)


def transposed_1d() -> Any:
    inputs = keras.Input((5, 3))
    return keras.Model(inputs, layers.Conv1DTranspose(4, 3, strides=2)(inputs))


def transposed_3d() -> Any:
    inputs = keras.Input((2, 3, 2, 2))
    return keras.Model(inputs, layers.Conv3DTranspose(3, 2, strides=2, padding="same")(inputs))


def pools() -> Any:
    inputs = keras.Input((7, 6, 3))
    return keras.Model(
        inputs,
        [
            layers.MaxPooling2D(3, 2, padding="same")(inputs),
            layers.AveragePooling2D(3, 2, padding="same")(inputs),
            layers.ZeroPadding2D(((1, 2), (0, 3)))(inputs),
            layers.UpSampling2D((2, 3), interpolation="bilinear")(inputs),
        ],
    )


def pool_3d() -> Any:
    inputs = keras.Input((4, 3, 4, 2))
    return keras.Model(inputs, layers.AveragePooling3D(2, padding="same")(inputs))


def attention() -> Any:
    inputs = keras.Input((4, 8))
    x = layers.LayerNormalization()(inputs)
    x = layers.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True) + inputs
    return keras.Model(inputs, layers.Dense(8, "gelu")(x))


def shared() -> Any:
    dense = layers.Dense(4)
    first, second = keras.Input((4,), name="z"), keras.Input((4,), name="a")
    return keras.Model([first, second], [dense(first) - dense(second), dense(second)])


def nested() -> Any:
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.LeakyReLU()])
    inputs = keras.Input((4,))
    return keras.Model(inputs, inner(inputs) + 1.0)


def softplus() -> Any:
    inputs = keras.Input((4,))
    return keras.Model(inputs, layers.Activation("softplus")(inputs * 100.0))


BUILDERS: list[Callable[[], Any]] = [
    conv_bn,
    depthwise,
    recurrent,
    masked,
    transposed,
    transposed_1d,
    transposed_3d,
    pools,
    pool_3d,
    attention,
    shared,
    nested,
    softplus,
]


def values(model: Any, batch: int) -> dict[str, np.ndarray]:
    return {
        spec.name: RNG.integers(0, 9, (batch, *spec.shape[1:])).astype(spec.dtype)
        if spec.dtype.startswith("int")
        else RNG.standard_normal((batch, *spec.shape[1:])).astype(spec.dtype)
        for spec in keras_signature(model).inputs
    }


def check(model: Any, ir: Any, arrays: dict[str, np.ndarray], expected: list[Any]) -> None:
    assert [spec.name for spec in ir.inputs] == list(arrays)
    outputs = ir.compile().run(arrays)
    assert list(outputs) == [spec.name for spec in ir.outputs]
    for found, right in zip(outputs.values(), expected, strict=True):
        # float32 sums in another order.
        np.testing.assert_allclose(found, np.asarray(right), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("build", BUILDERS, ids=lambda build: build.__name__)
def test_model_equals_keras(build: Callable[[], Any]) -> None:
    model = randomised(build())
    before = model.get_config()
    arrays = values(model, 2)
    given = list(arrays.values())
    expected = keras.tree.flatten(model(given if len(given) > 1 else given[0], training=False))
    ir = forge.from_keras(model, {name: array.shape for name, array in arrays.items()})
    check(model, ir, arrays, expected)
    assert model.get_config() == before
    assert any(step.name.startswith("route: ") for step in ir.history)


def test_names_and_order_of_lists() -> None:
    ir = forge.from_keras(shared(), {"z": (1, 4), "a": (1, 4)})
    assert [spec.name for spec in ir.inputs] == ["z", "a"]
    assert len({spec.name for spec in ir.outputs}) == 2


def test_dicts_keep_their_keys() -> None:
    first, second = keras.Input((4,), name="zz"), keras.Input((4,), name="aa")
    model = keras.Model(
        {"zeta": first, "alpha": second}, {"out_z": first - second, "out_a": first * second}
    )
    arrays = values(model, 2)
    assert set(arrays) == {"zeta", "alpha"}
    ir = forge.from_keras(model, {name: array.shape for name, array in arrays.items()})
    outputs = ir.compile().run(arrays)
    np.testing.assert_allclose(outputs["out_z"], arrays["zeta"] - arrays["alpha"], rtol=1e-6)
    np.testing.assert_allclose(outputs["out_a"], arrays["zeta"] * arrays["alpha"], rtol=1e-6)


def test_open_batch_stays_symbolic() -> None:
    model = randomised(conv_bn())
    ir = forge.from_keras(model)
    assert ir.inputs[0].shape[0] == "batch"
    executable = ir.compile()
    for batch in (1, 4):
        arrays = values(model, batch)
        (found,) = executable.run(arrays).values()
        expected = np.asarray(model(next(iter(arrays.values())), training=False))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_open_batch_that_cannot_stay_symbolic_asks_for_a_shape() -> None:
    with pytest.raises(forge.InvalidInput, match="shape_dict="):
        forge.from_keras(masked())


class Subclassed(keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.dense = layers.Dense(3)

    def call(self, x: Any, y: Any, training: bool | None = None) -> Any:
        return {"difference": self.dense(x) - y, "training": y * (2.0 if training else 1.0)}


def test_subclassed_takes_its_inputs_from_shape_dict() -> None:
    model = Subclassed()
    ir = forge.from_keras(model, {"y": (2, 3), "x": (2, 4)})
    assert [spec.name for spec in ir.inputs] == ["x", "y"]
    x = RNG.standard_normal((2, 4)).astype("float32")
    y = RNG.standard_normal((2, 3)).astype("float32")
    outputs = ir.compile().run({"x": x, "y": y})
    expected = model(x, y=y, training=False)
    assert list(outputs) == ["difference", "training"]
    for name, found in outputs.items():
        np.testing.assert_allclose(found, np.asarray(expected[name]), rtol=1e-5, atol=1e-6)


def test_unbuilt_without_shapes() -> None:
    with pytest.raises(forge.InvalidInput, match="never built"):
        forge.from_keras(keras.Sequential([layers.Dense(2)]))


def test_weights_are_copied() -> None:
    model = randomised(nested())
    arrays = values(model, 2)
    ir = forge.from_keras(model, {name: array.shape for name, array in arrays.items()})
    expected = np.asarray(model(next(iter(arrays.values())), training=False))
    for weight in model.weights:
        weight.assign(weight * 0)
    (found,) = ir.compile().run(arrays).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_unroll_is_put_back_after_a_failure() -> None:
    model = recurrent()
    with pytest.raises(forge.InvalidInput):
        forge.from_keras(model, {"nothing": (1, 4, 3)})
    forge.from_keras(model, {model.layers[0].name: (1, 4, 3)}, fold=False)
    assert not model.layers[-1].unroll


def test_stateful_layers_are_refused_by_name() -> None:
    inputs = keras.Input(batch_shape=(1, 4, 3))
    with pytest.raises(forge.UnsupportedOperator) as error:
        forge.from_keras(keras.Model(inputs, layers.LSTM(2, stateful=True)(inputs)))
    assert error.value.operators == ("LSTM",)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [({"q": (1, 4)}, "z: batchx4"), ({"z": (1, 4, 1)}, "z"), ({"z": (1, 5)}, "z")],
)
def test_wrong_shapes(shapes: dict[str, Any], words: str) -> None:
    with pytest.raises(forge.InvalidInput, match=words):
        forge.from_keras(shared(), shapes)


@pytest.mark.parametrize("bad", ["model.keras", 3, None, layers.Dense(2)])
def test_wrong_type(bad: object) -> None:
    with pytest.raises(forge.InvalidInput):
        forge.from_keras(bad)
