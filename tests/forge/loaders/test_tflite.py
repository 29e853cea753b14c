from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import forge

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")
tf.get_logger().setLevel("ERROR")

RNG = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def convert(function: Callable[..., Any], arrays: Sequence[np.ndarray]) -> bytes:
    specs = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
    concrete = tf.function(function).get_concrete_function(*specs)
    return bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())


def native(model: bytes, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    interpreter = tf.lite.Interpreter(model_content=model)
    details = interpreter.get_input_details()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.resize_tensor_input(detail["index"], array.shape)
    interpreter.allocate_tensors()
    for detail, array in zip(details, arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [np.array(interpreter.get_tensor(d["index"])) for d in interpreter.get_output_details()]


def check(model: bytes, arrays: Sequence[np.ndarray], **options: Any) -> Any:
    """Load, run and compare in value, shape and dtype with TensorFlow's interpreter."""
    ir = forge.from_tflite(model, **options)
    outputs = ir.compile().run({s.name: a for s, a in zip(ir.inputs, arrays, strict=True)})
    for found, expected in zip(outputs.values(), native(model, arrays), strict=True):
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        # float32 sums in another order.
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    return ir


X4 = normal(1, 5, 6, 3)
KERNEL = normal(3, 3, 4, 3)
INDICES = np.array([[0, 2], [1, 1]], "int32")
OPERATORS: dict[str, tuple[Callable[..., Any], list[np.ndarray]]] = {
    "resize nearest, align_corners": (
        lambda x: tf.compat.v1.image.resize_nearest_neighbor(x, (7, 11), align_corners=True),
        [X4],
    ),
    "resize nearest, half pixel": (lambda x: tf.image.resize(x, (7, 11), "nearest"), [X4]),
    "gather, batch_dims": (
        lambda x, i: tf.gather(x, i, batch_dims=1, axis=2),
        [normal(2, 2, 4), INDICES],
    ),
    "gather_nd": (
        lambda x, i: tf.gather_nd(x, i),
        [normal(4, 3, 2), np.array([[[0], [2]], [[1], [3]]], "int32")],
    ),
    "scatter_nd, duplicates add": (
        lambda i, u: tf.scatter_nd(i, u, [5, 2]),
        [np.array([[0], [2], [2]], "int32"), normal(3, 2)],
    ),
    "argmin int32": (lambda x: tf.argmin(x, 1, output_type=tf.int32), [normal(3, 4)]),
    "mean of negative int32": (
        lambda x: tf.reduce_mean(x, 1),
        [np.array([[-7, 2, 2], [5, 0, 1]], "int32")],
    ),
    "gelu, approximate": (lambda x: tf.nn.gelu(x, approximate=True), [normal(64)]),
    "select by row": (
        lambda c, x, y: tf.raw_ops.Select(condition=c, x=x, y=y),
        [np.array([True, False]), normal(2, 2), normal(2, 2)],
    ),
    "matmul, broadcast batch": (lambda x, y: tf.matmul(x, y), [normal(1, 3, 4), normal(2, 4, 5)]),
    "bucketize on a boundary": (
        lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[0.0, 10.0]),
        [np.array([-1, 5, 11, 0, 10], "float32")],
    ),
    "mirror pad, symmetric": (
        lambda x: tf.pad(x, [[0, 0], [1, 2], [1, 1], [0, 0]], "SYMMETRIC"),
        [X4],
    ),
    "reverse over two axes": (lambda x: tf.reverse(x, [1, 2]), [normal(2, 3, 4)]),
    "space to batch": (lambda x: tf.space_to_batch(x, [2, 2], [[1, 0], [0, 0]]), [X4]),
    "batch to space": (
        lambda x: tf.batch_to_space(x, [2, 2], [[1, 0], [0, 0]]),
        [normal(4, 3, 3, 2)],
    ),
    "cumsum, exclusive from the end": (
        lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True),
        [normal(2, 4)],
    ),
    "diag": (lambda x: tf.linalg.diag(x), [normal(2, 3)]),
    "set_diag": (lambda x, d: tf.linalg.set_diag(x, d), [normal(3, 2), normal(2)]),
    "sparse to dense": (
        lambda v: tf.sparse.to_dense(tf.SparseTensor([[0, 1], [2, 0]], v, [3, 2])),
        [normal(2)],
    ),
    "square of the difference of ints": (
        lambda x, y: tf.math.squared_difference(x, y),
        [np.array([3, -4], "int32"), np.array([-2, 9], "int32")],
    ),
    "transposed conv, odd size": (
        lambda x: tf.nn.conv2d_transpose(x, KERNEL, [1, 9, 11, 4], 2, "SAME"),
        [X4],
    ),
    "transposed conv, stride beyond kernel": (
        lambda x: tf.nn.conv2d_transpose(x, KERNEL[:1, :2], [1, 15, 18, 4], 3, "SAME"),
        [X4],
    ),
    "average pool, same": (lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), [X4]),
    "floordiv of negative ints": (
        lambda x, y: (x // y, x % y),
        [np.array([-7, 7, -8], "int32"), np.array([2, -2, 3], "int32")],
    ),
    "int64 above 2**53": (lambda x: x + 1, [np.array([2**53 + 1], "int64")]),
    "while": (
        lambda x: tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * 2.0), [0, x])[1],
        [normal(2)],
    ),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_equals_interpreter(name: str) -> None:
    function, arrays = OPERATORS[name]
    check(convert(function, arrays), arrays)


def test_order_and_names_are_the_files() -> None:
    def function(zeta: Any, alpha: Any) -> Any:
        return zeta - alpha, alpha * 2.0

    specs = [tf.TensorSpec([3], name="zeta"), tf.TensorSpec([3], name="alpha")]
    concrete = tf.function(function).get_concrete_function(*specs)
    model = tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert()
    ir = check(model, [normal(3), normal(3)])
    assert [spec.name for spec in ir.inputs] == ["zeta", "alpha"]
    assert len({spec.name for spec in ir.outputs}) == 2


@pytest.fixture(scope="module")
def open_batch() -> bytes:
    keras = tf.keras
    inputs = keras.Input((6, 6, 3), name="image")
    x = keras.layers.Conv2D(4, 3, padding="same")(inputs)
    x = keras.layers.Flatten()(keras.layers.Reshape((18, 8))(x))
    outputs = keras.layers.Dense(3)(x)
    model = keras.Model(inputs, outputs)

    @tf.function(input_signature=[tf.TensorSpec([None, 6, 6, 3], name="image")])
    def serve(image: Any) -> Any:
        return model(image, training=False)

    concrete = serve.get_concrete_function()
    return bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())


@pytest.mark.parametrize("batch", [1, 3])
def test_open_batch_takes_the_callers(open_batch: bytes, batch: int) -> None:
    arrays = [normal(batch, 6, 6, 3)]
    ir = check(open_batch, arrays, shape_dict={"image": arrays[0].shape})
    assert ir.inputs[0].shape == (batch, 6, 6, 3)


def test_open_batch_is_never_one_in_silence(open_batch: bytes) -> None:
    with pytest.raises(forge.InvalidInput, match="open") as error:
        forge.from_tflite(open_batch)
    assert "shape_dict={'image': (1, 6, 6, 3)}" in str(error.value)


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({"picture": (1, 6, 6, 3)}, "image"),
        ({"image": (1, 6, 6)}, "image"),
        ({"image": (1, 7, 6, 3)}, "image"),
        ({"image": ("N", 6, 6, 3)}, "symbolic"),
    ],
)
def test_wrong_shapes(open_batch: bytes, shapes: dict[str, Any], words: str) -> None:
    with pytest.raises(forge.InvalidInput, match=words):
        forge.from_tflite(open_batch, shapes)


def test_wrong_dtype(open_batch: bytes) -> None:
    with pytest.raises(forge.InvalidInput, match="float32"):
        forge.from_tflite(open_batch, {"image": (1, 6, 6, 3)}, {"image": "int8"})


def test_looped_recurrent_layer() -> None:
    inputs = tf.keras.Input((4, 3), batch_size=1)
    layer = tf.keras.layers.LSTM(2)
    outputs = layer(inputs)

    @tf.function(input_signature=[tf.TensorSpec([1, 4, 3])])  # type: ignore[untyped-decorator]
    def serve(x: Any) -> Any:
        return tf.keras.Model(inputs, outputs)(x, training=False)

    concrete = serve.get_concrete_function()
    model = bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())
    check(model, [normal(1, 4, 3)])


def test_int8_is_exact() -> None:
    kernel = normal(3, 3, 3, 4)

    class Net(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([1, 8, 8, 3])])  # type: ignore[untyped-decorator]
        def __call__(self, x: Any) -> Any:
            x = tf.nn.relu(
                tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 0], [0, 1], [0, 0]]), kernel, 2, "SAME")
            )
            return tf.transpose(tf.nn.avg_pool2d(x, 3, 2, "SAME"), [0, 2, 1, 3])

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [Net().__call__.get_concrete_function()]
    )
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([normal(1, 8, 8, 3)] for _ in range(10))
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    model = bytes(converter.convert())
    array = RNG.integers(-128, 128, (1, 8, 8, 3)).astype("int8")
    ir = forge.from_tflite(model)
    (found,) = ir.compile().run({ir.inputs[0].name: array}).values()
    np.testing.assert_array_equal(found, native(model, [array])[0])


def test_all_unsupported_operators_are_named() -> None:
    model = convert(lambda x: tf.nn.relu(x), [normal(3)])
    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [
            tf.function(
                lambda x: (tf.linalg.cholesky(x), tf.linalg.inv(x), x * 2.0)
            ).get_concrete_function(tf.TensorSpec([2, 2]))
        ]
    )
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    flex = bytes(converter.convert())
    with pytest.raises(forge.UnsupportedOperator) as error:
        forge.from_tflite(flex)
    assert set(error.value.operators) == {"FlexCholesky", "FlexMatrixInverse"}
    assert forge.from_tflite(model).inputs


def test_custom_operator_is_the_callers() -> None:
    from tvm import relax

    converter = tf.lite.TFLiteConverter.from_concrete_functions(
        [tf.function(lambda x: tf.linalg.inv(x) * 2.0).get_concrete_function(tf.TensorSpec([3, 3]))]
    )
    converter.target_spec.supported_ops = [
        tf.lite.OpsSet.TFLITE_BUILTINS,
        tf.lite.OpsSet.SELECT_TF_OPS,
    ]
    ir = forge.from_tflite(
        bytes(converter.convert()),
        custom_ops={
            "FlexMatrixInverse": lambda builder, inputs, attrs: relax.op.negative(inputs[0])
        },
    )
    array = normal(3, 3)
    (found,) = ir.compile().run({ir.inputs[0].name: array}).values()
    np.testing.assert_allclose(found, -2 * array, rtol=1e-6)


def test_random_operator_is_refused() -> None:
    model = convert(lambda x: x + tf.random.uniform([3]), [normal(3)])
    with pytest.raises(forge.UnsupportedOperator, match="random") as error:
        forge.from_tflite(model)
    assert error.value.operators == ("RANDOM_UNIFORM",)


def test_several_signatures_are_refused() -> None:
    class Net(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([3])])  # type: ignore[untyped-decorator]
        def one(self, x: Any) -> Any:
            return x + 1.0

        @tf.function(input_signature=[tf.TensorSpec([3])])  # type: ignore[untyped-decorator]
        def two(self, x: Any) -> Any:
            return x * 2.0

    net = Net()
    functions = [net.one.get_concrete_function(), net.two.get_concrete_function()]
    model = tf.lite.TFLiteConverter.from_concrete_functions(functions, net).convert()
    with pytest.raises(forge.InvalidInput, match="signature"):
        forge.from_tflite(model)


@pytest.mark.parametrize("root", ["tflite", "tensorflow", "ai_edge_litert"])
def test_schema_objects(root: str) -> None:
    model = convert(lambda x: x * 2.0, [normal(3)])
    if root == "tflite":
        import tflite

        objects = [tflite.Model.GetRootAs(model)]
    else:
        path = {"tensorflow": "tensorflow.lite.python", "ai_edge_litert": "ai_edge_litert"}[root]
        schema = pytest.importorskip(f"{path}.schema_py_generated")
        objects = [
            schema.Model.GetRootAs(model),
            schema.ModelT.InitFromPackedBuf(model, 0),
        ]
    for thing in [*objects, bytearray(model), memoryview(model)]:
        assert forge.from_tflite(thing).operators == forge.from_tflite(model).operators


def test_bad_input() -> None:
    model = convert(lambda x: x * 2.0, [normal(3)])
    for bad in [b"", b"short", b"\0" * 64, model[: len(model) // 2], model[:40]]:
        with pytest.raises(forge.InvalidInput):
            forge.from_tflite(bad)
    with pytest.raises(forge.InvalidInput, match="path"):
        forge.from_tflite("model.tflite")
    with pytest.raises(forge.InvalidInput, match="int"):
        forge.from_tflite(3)
