from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge

tf = pytest.importorskip("tensorflow")
tf.get_logger().setLevel("ERROR")

RNG = np.random.default_rng(2)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


Z, A = normal(2, 3), normal(2, 3)
PAIR = [tf.TensorSpec([None, 3], name="zz"), tf.TensorSpec([None, 3], name="aa")]
SHAPES = {"zz": (2, 3), "aa": (2, 3)}


class Net(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = tf.Variable(normal(3, 3))

    @tf.function(input_signature=PAIR)  # type: ignore[untyped-decorator]
    def differ(self, zz: Any, aa: Any) -> Any:
        return {"right": zz - tf.matmul(aa, self.weight), "left": zz}

    @tf.function(input_signature=[tf.TensorSpec([3])])  # type: ignore[untyped-decorator]
    def double(self, x: Any) -> Any:
        return x * 2.0, tf.reduce_sum(x)


@pytest.fixture(scope="module")
def net() -> Any:
    return Net()


@pytest.fixture(scope="module")
def saved(net: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = str(tmp_path_factory.mktemp("saved") / "model")
    tf.saved_model.save(net, folder, signatures={"one": net.differ, "two": net.double})
    return tf.saved_model.load(folder)


def run(ir: Any, *arrays: np.ndarray) -> dict[str, np.ndarray]:
    named = {spec.name: array for spec, array in zip(ir.inputs, arrays, strict=True)}
    result: dict[str, np.ndarray] = ir.compile().run(named)
    return result


def is_difference(net: Any, ir: Any, first: np.ndarray, second: np.ndarray) -> None:
    outputs = run(ir, first, second)
    values = {spec.name: a for spec, a in zip(ir.inputs, (first, second), strict=True)}
    assert list(outputs) == ["left", "right"]
    expected = net.differ(values["zz"], values["aa"])
    for name, found in outputs.items():
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-6)


class TestEntryPoints:
    def test_concrete_function(self, net: Any) -> None:
        ir = forge.from_tensorflow(net.differ.get_concrete_function(), SHAPES)
        assert [str(spec) for spec in ir.inputs] == ["zz: 2x3 float32", "aa: 2x3 float32"]
        is_difference(net, ir, Z, A)

    def test_function_with_signature_stays_symbolic(self, net: Any) -> None:
        ir = forge.from_tensorflow(net.differ)
        assert [spec.shape for spec in ir.inputs] == [("batch", 3), ("batch", 3)]
        is_difference(net, ir, normal(5, 3), normal(5, 3))

    def test_function_without_signature(self) -> None:
        @tf.function  # type: ignore[untyped-decorator]
        def plain(b: Any, a: Any, flag: bool = True) -> Any:
            return b - a if flag else b

        ir = forge.from_tensorflow(plain, {"a": (2, 3), "b": (2, 3)})
        assert [spec.name for spec in ir.inputs] == ["b", "a"]
        (found,) = run(ir, Z, A).values()
        np.testing.assert_allclose(found, Z - A, rtol=1e-6)
        with pytest.raises(forge.InvalidInput, match="b, a"):
            forge.from_tensorflow(plain)
        with pytest.raises(forge.InvalidInput, match="b, a"):
            forge.from_tensorflow(plain, {"x": (2, 3)})

    def test_module(self, net: Any) -> None:
        with pytest.raises(forge.InvalidInput, match="differ, double"):
            forge.from_tensorflow(net)
        is_difference(net, forge.from_tensorflow(net, SHAPES, signature="differ"), Z, A)

    def test_saved_model_signature_in_tensorflows_order(self, net: Any, saved: Any) -> None:
        ir = forge.from_tensorflow(saved, SHAPES, signature="one")
        # Signatures take keyword arguments only, which TensorFlow sorts.
        assert [spec.name for spec in ir.inputs] == ["aa", "zz"]
        is_difference(net, ir, A, Z)

    def test_saved_model_function_keeps_argument_order(self, net: Any, saved: Any) -> None:
        ir = forge.from_tensorflow(saved.differ, SHAPES)
        assert [spec.name for spec in ir.inputs] == ["zz", "aa"]
        is_difference(net, ir, Z, A)

    def test_saved_model_lists_its_signatures(self, saved: Any) -> None:
        for options in ({}, {"signature": "three"}):
            with pytest.raises(forge.InvalidInput, match="one, two"):
                forge.from_tensorflow(saved, **options)

    def test_graph_def(self) -> None:
        graph = tf.Graph()
        with graph.as_default():
            second = tf.compat.v1.placeholder(tf.float32, [None, 3], name="second")
            first = tf.compat.v1.placeholder(tf.float32, [None, 3], name="first")
            tf.nn.softmax(tf.subtract(second, first, name="difference"), name="soft")
        definition = graph.as_graph_def()
        ir = forge.from_tensorflow(
            definition, {"second": (2, 3), "first": (2, 3)}, outputs=["soft", "difference:0"]
        )
        assert [spec.name for spec in ir.inputs] == ["second", "first"]
        outputs = run(ir, Z, A)
        np.testing.assert_allclose(outputs["difference:0"], Z - A, rtol=1e-6)
        np.testing.assert_allclose(outputs["soft"], tf.nn.softmax(Z - A), rtol=1e-5)
        for wrong in (None, ["nothing"]):
            with pytest.raises(forge.InvalidInput, match="soft"):
                forge.from_tensorflow(definition, outputs=wrong)


class TestRoutes:
    def route(self, ir: Any) -> str:
        return next(step.name for step in ir.history if step.name.startswith("route"))

    def test_integer_division_never_takes_onnx(self) -> None:
        spec = tf.TensorSpec([4], tf.int32)
        function = tf.function(lambda x, y: (x // y, x % y)).get_concrete_function(spec, spec)
        x, y = np.array([-7, 7, -8, 9], "int32"), np.array([2, -2, 3, 4], "int32")
        ir = forge.from_tensorflow(function)
        assert self.route(ir) == "route: TFLite"
        quotient, remainder = run(ir, x, y).values()
        np.testing.assert_array_equal(quotient, x // y)
        np.testing.assert_array_equal(remainder, x % y)

    @pytest.mark.parametrize(
        ("function", "array"),
        [
            (tf.nn.softplus, np.array([-100, -1, 0, 1, 100, 200], "float32")),
            (tf.math.is_nan, np.array([1, np.nan, np.inf], "float32")),
            (tf.math.is_inf, np.array([1, np.nan, -np.inf, 3.4e38], "float32")),
            (tf.math.is_finite, np.array([1, np.nan, -np.inf], "float32")),
            (tf.math.tanh, RNG.standard_normal(4)),
        ],
        ids=["softplus", "is_nan", "is_inf", "is_finite", "tanh float64"],
    )
    def test_operators_that_take_onnx(self, function: Any, array: np.ndarray) -> None:
        concrete = tf.function(function).get_concrete_function(
            tf.TensorSpec(array.shape, array.dtype, name="x")
        )
        ir = forge.from_tensorflow(concrete)
        assert self.route(ir) == "route: ONNX"
        (found,) = run(ir, array).values()
        np.testing.assert_allclose(found, function(array), rtol=1e-6)

    def test_no_route_names_the_operators(self) -> None:
        concrete = tf.function(lambda x, y: (tf.nn.softplus(x), y // 2)).get_concrete_function(
            tf.TensorSpec([4]), tf.TensorSpec([4], tf.int32)
        )
        with pytest.raises(forge.UnsupportedOperator) as error:
            forge.from_tensorflow(concrete)
        assert set(error.value.operators) == {"Softplus", "FloorDiv"}

    def test_scatter_adds_duplicates(self) -> None:
        concrete = tf.function(lambda i, u: tf.scatter_nd(i, u, [4])).get_concrete_function(
            tf.TensorSpec([3, 1], tf.int32), tf.TensorSpec([3])
        )
        indices, updates = np.array([[1], [1], [3]], "int32"), normal(3)
        (found,) = run(forge.from_tensorflow(concrete), indices, updates).values()
        expected = [0, updates[0] + updates[1], 0, updates[2]]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_borders_that_converters_merge() -> None:
    """An unused input, an input given back, the same tensor twice, a constant, a nested dict."""

    def function(a: Any, b: Any) -> Any:
        double = a * 2.0
        return a, double, double, tf.constant([1.0, 2.0]), {"key": a, "none": None}

    concrete = tf.function(function).get_concrete_function(
        tf.TensorSpec([3], name="a"), tf.TensorSpec([2], name="b")
    )
    ir = forge.from_tensorflow(concrete)
    array = normal(3)
    outputs = run(ir, array, normal(2))
    assert [spec.name for spec in ir.inputs] == ["a", "b"]
    names = ["output_0", "output_1", "output_2", "output_3", "output_4/key"]
    assert list(outputs) == names
    for found, expected in zip(
        outputs.values(), [array, array * 2, array * 2, [1, 2], array], strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variables_are_frozen() -> None:
    net = Net()
    expected = net.differ(Z, A)["right"].numpy()
    ir = forge.from_tensorflow(net.differ, SHAPES)
    net.weight.assign(net.weight * 0)
    np.testing.assert_allclose(run(ir, Z, A)["right"], expected, rtol=1e-5, atol=1e-6)


def test_state_and_randomness_are_refused_by_name() -> None:
    variable = tf.Variable([1.0, 2.0, 3.0])

    @tf.function(input_signature=[tf.TensorSpec([2, 3])])  # type: ignore[untyped-decorator]
    def stateful(x: Any) -> Any:
        variable.assign_add([1.0, 1.0, 1.0])
        return x + variable + tf.random.normal([3])

    with pytest.raises(forge.UnsupportedOperator) as error:
        forge.from_tensorflow(stateful)
    assert set(error.value.operators) == {"AssignAddVariableOp", "RandomStandardNormal"}


def test_unknown_rank_asks_for_a_shape() -> None:
    function = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec(None, name="x")])
    with pytest.raises(forge.InvalidInput, match="rank"):
        forge.from_tensorflow(function)
    (found,) = run(forge.from_tensorflow(function, {"x": (2, 3)}), Z).values()
    np.testing.assert_allclose(found, Z * 2, rtol=1e-6)


@pytest.mark.parametrize(
    "shapes", [{"q": (2, 3)}, {"zz": (2, 3, 4)}, {"zz": (2, 4)}, {"zz": (2, 3.5)}]
)
def test_wrong_shapes(net: Any, shapes: dict[str, Any]) -> None:
    with pytest.raises(forge.InvalidInput, match="zz"):
        forge.from_tensorflow(net.differ, shapes)


@pytest.mark.parametrize("bad", [Path("model"), "model", 3, None, lambda x: x])
def test_wrong_type(bad: object) -> None:
    with pytest.raises(forge.InvalidInput):
        forge.from_tensorflow(bad)


def test_keras_model_is_sent_to_its_loader() -> None:
    model = tf.keras.Sequential([tf.keras.Input((2,)), tf.keras.layers.Dense(1)])
    with pytest.raises(forge.InvalidInput, match="from_keras"):
        forge.from_tensorflow(model)
