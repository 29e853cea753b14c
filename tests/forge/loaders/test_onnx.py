from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

RNG = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype("float32")


def run(model: Any, inputs: dict[str, np.ndarray], **options: Any) -> dict[str, np.ndarray]:
    result: dict[str, np.ndarray] = forge.from_onnx(model, **options).compile().run(inputs)
    return result


def native(model: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString())
    return list(session.run(None, inputs))


class TestNamesAndOrder:
    """Names that TVM would change, in an order that sorts the other way round."""

    @pytest.fixture
    def model(self, onnx_model: Callable[..., Any]) -> Any:
        return onnx_model(
            [
                helper.make_node("Sub", ["z.in", "0"], ["out/0"]),
                helper.make_node("Div", ["0", "w"], ["a:b"]),
            ],
            {"z.in": ((2, 3), "float32"), "0": ((2, 3), "float32")},
            {"out/0": ((2, 3), "float32"), "a:b": ((2, 3), "float32")},
            {"w": np.array([2, 4, 8], "float32")},
        )

    def test_are_the_frameworks(self, model: Any) -> None:
        ir = forge.from_onnx(model)
        assert [spec.name for spec in ir.inputs] == ["z.in", "0"]
        assert [spec.name for spec in ir.outputs] == ["out/0", "a:b"]

    def test_values_belong_to_them(self, model: Any) -> None:
        x, y = normal(2, 3), normal(2, 3)
        ours = run(model, {"0": y, "z.in": x})
        np.testing.assert_array_equal(ours["out/0"], x - y)
        np.testing.assert_array_equal(ours["a:b"], y / np.array([2, 4, 8], "float32"))

    def test_initializers_are_no_inputs(self, model: Any) -> None:
        model.graph.input.append(
            helper.make_tensor_value_info("w", TensorProto.FLOAT, [3])
        )  # as IR version 3 wanted it
        assert [spec.name for spec in forge.from_onnx(model).inputs] == ["z.in", "0"]


class TestShapes:
    @pytest.fixture
    def model(self, onnx_model: Callable[..., Any]) -> Any:
        return onnx_model(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            {"x": (("N", None, 4), "float32")},
            {"y": (None, "float32")},
            {"w": normal(4, 2)},
        )

    def test_open_dimensions_stay_symbolic(self, model: Any) -> None:
        ir = forge.from_onnx(model)
        assert ir.inputs[0].shape[0] == "N"
        executable = ir.compile()
        for shape in ((1, 3, 4), (4, 2, 4)):
            x = normal(*shape)
            np.testing.assert_allclose(
                executable(x), native(model, {"x": x})[0], rtol=1e-5, atol=1e-6
            )

    def test_unnamed_dimensions_are_not_made_equal(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Abs", ["x"], ["y"])],
            {"x": ((None, None), "float32")},
            {"y": (None, "float32")},
        )
        x = normal(2, 5)
        np.testing.assert_array_equal(forge.from_onnx(model).compile()(x), np.abs(x))

    def test_minus_one_is_an_open_dimension(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Abs", ["x"], ["y"])],
            {"x": ((-1, 2), "float32")},
            {"y": (None, "float32")},
        )
        assert isinstance(forge.from_onnx(model).inputs[0].shape[0], str)
        assert forge.from_onnx(model, {"x": (3, 2)}).inputs[0].shape == (3, 2)

    def test_given_shapes_are_taken(self, model: Any) -> None:
        ir = forge.from_onnx(model, {"x": (2, 3, 4)})
        assert ir.inputs[0].shape == (2, 3, 4)
        assert ir.outputs[0].shape == (2, 3, 2)

    def test_given_names_tie_dimensions(self, model: Any) -> None:
        executable = forge.from_onnx(model, {"x": ("S", "S", 4)}).compile()
        with pytest.raises(forge.InvalidInput, match="'S' is 2"):
            executable(normal(2, 3, 4))

    @pytest.mark.parametrize(
        ("shapes", "message"),
        [
            ({"y": (1,)}, "names 'y', which the model has not"),
            ({"x": (1, 2)}, r"the shape \(1, 2\)"),
            ({"x": (1, 2, 5)}, r"the shape \(1, 2, 5\)"),
            ({"x": (1, -2, 4)}, r"the shape \(1, -2, 4\)"),
            ({"x": (1, 2.5, 4)}, r"2\.5"),
            ({"x": (1, "not a name", 4)}, "not a name"),
        ],
    )
    def test_wrong_shapes_are_refused(self, model: Any, shapes: Any, message: str) -> None:
        with pytest.raises(forge.InvalidInput, match=message) as caught:
            forge.from_onnx(model, shapes)
        assert "x: Nx?x4 float32" in str(caught.value)

    def test_unknown_rank_asks_for_a_shape(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Abs", ["x"], ["y"])],
            {"x": (None, "float32")},
            {"y": (None, "float32")},
        )
        with pytest.raises(forge.InvalidInput, match="no declared rank"):
            forge.from_onnx(model)
        assert forge.from_onnx(model, {"x": (2, 3)}).outputs[0].shape == (2, 3)


def test_dtype_dict_changes_an_input(onnx_model: Callable[..., Any]) -> None:
    model = onnx_model(
        [helper.make_node("Add", ["x", "x"], ["y"])],
        {"x": ((3,), "float32")},
        {"y": (None, "float32")},
    )
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.DOUBLE
    x = np.array([1, 1e-9, 1e300])
    assert run(model, {"x": x}, dtype_dict={"x": "float64"})["y"].tolist() == (x + x).tolist()
    with pytest.raises(forge.InvalidInput, match="'float17'"):
        forge.from_onnx(model, dtype_dict={"x": "float17"})
    with pytest.raises(forge.InvalidInput, match="dtype_dict names 'z'"):
        forge.from_onnx(model, dtype_dict={"z": "float32"})


def test_model_is_not_changed_and_weights_are_owned(onnx_model: Callable[..., Any]) -> None:
    weight = normal(3, 2)
    model = onnx_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        {"x": ((None, 3), "float32")},
        {"y": (None, "float32")},
        {"w": weight},
    )
    before = model.SerializeToString()
    ir = forge.from_onnx(model, {"x": (2, 3)})
    assert model.SerializeToString() == before
    executable = ir.compile()
    model.graph.initializer[0].raw_data = np.zeros((3, 2), "float32").tobytes()
    x = normal(2, 3)
    np.testing.assert_allclose(executable(x), x @ weight, rtol=1e-5, atol=1e-6)


def test_three_plus_four_becomes_seven(onnx_model: Callable[..., Any]) -> None:
    """By the pass on Relax; by itself it would be folded before the import (``prepare``)."""
    model = onnx_model(
        [helper.make_node("MatMul", ["a", "b"], ["c"]), helper.make_node("Mul", ["x", "c"], ["y"])],
        {"x": ((2,), "float32")},
        {"y": (None, "float32")},
        {"a": np.array([[1, 1]], "float32"), "b": np.array([[3], [4]], "float32")},
    )
    ir = forge.from_onnx(model, keep_unfolded=True, prepare=False)
    assert ir.operators == {"relax.multiply": 1}
    assert "R.matmul" in ir.unfolded.script()
    for loaded in (ir, forge.from_onnx(model, fold=False)):
        y = loaded.compile()(np.array([1, -2], "float32"))
        assert y.tolist() == [[7, -14]]


def test_constant_nodes_of_every_kind(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("Constant", [], ["f"], value_float=0.5),
        helper.make_node("Constant", [], ["fs"], value_floats=[1.0, 2.0]),
        helper.make_node("Constant", [], ["axes"], value_ints=[0]),
        helper.make_node("Mul", ["x", "f"], ["m"]),
        helper.make_node("Add", ["m", "fs"], ["a"]),
        helper.make_node("Unsqueeze", ["a", "axes"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": ((2,), "float32")}, {"y": (None, "float32")})
    assert run(model, {"x": np.array([4, 6], "float32")})["y"].tolist() == [[3, 5]]


class TestForeignOperators:
    @pytest.fixture
    def model(self, onnx_model: Callable[..., Any]) -> Any:
        return onnx_model(
            [
                helper.make_node("MatMul", ["x", "w"], ["t"]),
                helper.make_node("FooOp", ["t"], ["u"], domain="devtech", factor=3),
                helper.make_node("Relu", ["u"], ["v"], domain="my.custom"),
                helper.make_node("Sub", ["v", "c"], ["y"]),
            ],
            {"x": (("N", 4), "float32"), "c": (("N", 5), "float32")},
            {"y": (("N", 5), "float32")},
            {"w": normal(4, 5)},
            domains=["devtech", "my.custom"],
        )

    def test_are_refused_all_at_once(self, model: Any) -> None:
        with pytest.raises(forge.UnsupportedOperator) as caught:
            forge.from_onnx(model)
        assert caught.value.operators == ("devtech::FooOp", "my.custom::Relu")
        assert "custom_ops" in str(caught.value)

    def test_given_as_functions(self, model: Any) -> None:
        opsets = [helper.make_opsetid("", 17)]
        same = helper.make_function(
            "any", "Same", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], opsets
        )
        negate = helper.make_function(
            "any", "Minus", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], opsets
        )
        x, c = normal(3, 4), normal(3, 5)
        weight = onnx.numpy_helper.to_array(model.graph.initializer[0])
        ours = run(
            model,
            {"x": x, "c": c},
            custom_ops={"devtech::FooOp": same, "my.custom::Relu": negate},
        )
        np.testing.assert_allclose(ours["y"], -(x @ weight) - c, rtol=1e-5, atol=1e-5)

    def test_given_as_converters_in_a_row(self, model: Any) -> None:
        from tvm import relax

        def foo(builder: Any, inputs: Any, attributes: Any) -> Any:
            return relax.op.multiply(inputs[0], relax.const(float(attributes["factor"]), "float32"))

        def relu(builder: Any, inputs: Any, attributes: Any) -> Any:
            return relax.op.negative(inputs[0])

        ir = forge.from_onnx(model, custom_ops={"devtech::FooOp": foo, "my.custom::Relu": relu})
        assert [spec.name for spec in ir.inputs] == ["x", "c"]
        weight = onnx.numpy_helper.to_array(model.graph.initializer[0])
        executable = ir.compile()
        for n in (1, 3):
            x, c = normal(n, 4), normal(n, 5)
            np.testing.assert_allclose(
                executable.run({"x": x, "c": c})["y"], -3 * (x @ weight) - c, rtol=1e-5, atol=1e-5
            )

    def test_a_converter_that_gives_no_expression_is_named(self, model: Any) -> None:
        given = {"devtech::FooOp": lambda *_: None, "my.custom::Relu": lambda *_: None}
        with pytest.raises(forge.InvalidInput, match="converter of devtech::FooOp"):
            forge.from_onnx(model, custom_ops=given)

    @pytest.mark.parametrize("given", [{"FooOp": lambda *_: None}, {"devtech::FooOp": "Identity"}])
    def test_malformed_custom_ops(self, model: Any, given: Any) -> None:
        with pytest.raises(forge.InvalidInput, match="FooOp"):
            forge.from_onnx(model, custom_ops=given)

    def test_standard_operator_is_not_taken_for_a_contrib_one(
        self, onnx_model: Callable[..., Any]
    ) -> None:
        model = onnx_model(
            [helper.make_node("Attention", ["x", "w", "b"], ["y"], domain="com.microsoft")],
            {"x": ((1, 2, 4), "float32")},
            {"y": (None, "float32")},
            {"w": normal(4, 12), "b": normal(12)},
            domains=["com.microsoft"],
        )
        with pytest.raises(forge.UnsupportedOperator) as caught:
            forge.from_onnx(model)
        assert caught.value.operators == ("com.microsoft::Attention",)

    @pytest.mark.parametrize("name", ["Gelu", "FastGelu"])
    def test_checked_contrib_operators_are_right(
        self, name: str, onnx_model: Callable[..., Any]
    ) -> None:
        model = onnx_model(
            [helper.make_node(name, ["x"], ["y"], domain="com.microsoft")],
            {"x": ((31,), "float32")},
            {"y": ((31,), "float32")},
            domains=["com.microsoft"],
        )
        x = np.linspace(-6, 6, 31, dtype="float32")
        np.testing.assert_allclose(
            run(model, {"x": x})["y"], native(model, {"x": x})[0], rtol=1e-4, atol=1e-5
        )


def test_local_functions_are_inlined(onnx_model: Callable[..., Any]) -> None:
    """Also one that is named as a standard operator is, and computes something else."""
    function = helper.make_function(
        "local",
        "Relu",
        ["a"],
        ["b"],
        [helper.make_node("Neg", ["a"], ["b"])],
        [helper.make_opsetid("", 17)],
    )
    model = onnx_model(
        [helper.make_node("Relu", ["x"], ["y"], domain="local")],
        {"x": ((3,), "float32")},
        {"y": ((3,), "float32")},
        domains=["local"],
        functions=[function],
    )
    assert run(model, {"x": np.array([1, -2, 3], "float32")})["y"].tolist() == [-1, 2, -3]


def test_operators_with_a_standard_body_are_expanded(onnx_model: Callable[..., Any]) -> None:
    model = onnx_model(
        [helper.make_node("Celu", ["x"], ["y"], alpha=0.5)],
        {"x": ((7,), "float32")},
        {"y": ((7,), "float32")},
    )
    x = np.linspace(-3, 3, 7, dtype="float32")
    np.testing.assert_allclose(
        run(model, {"x": x})["y"], native(model, {"x": x})[0], rtol=1e-5, atol=1e-6
    )


def test_unsupported_operators_inside_branches_are_found(onnx_model: Callable[..., Any]) -> None:
    def branch(name: str) -> Any:
        return helper.make_graph(
            [helper.make_node(name, ["x"], [f"{name}_y"], domain="far")],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, None)],
        )

    node = helper.make_node("If", ["c"], ["y"], then_branch=branch("A"), else_branch=branch("B"))
    model = onnx_model(
        [node],
        {"c": ((), "bool"), "x": ((2,), "float32")},
        {"y": (None, "float32")},
        domains=["far"],
    )
    with pytest.raises(forge.UnsupportedOperator) as caught:
        forge.from_onnx(model)
    assert set(caught.value.operators) == {"far::A", "far::B"}


class TestBadInput:
    @pytest.mark.parametrize(
        ("model", "message"),
        [
            ("model.onnx", r"not the path 'model.onnx'.*\n.*onnx\.load"),
            (Path("model.onnx"), "not the path"),
            (b"\x08\x09", "load_from_string"),
            (None, "not NoneType"),
            (onnx.GraphProto(), "make_model"),
            (onnx.ModelProto(), "empty"),
        ],
    )
    def test_no_model(self, model: Any, message: str) -> None:
        with pytest.raises(forge.InvalidInput, match=message):
            forge.from_onnx(model)

    def test_invalid_graph(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Relu", ["nowhere"], ["y"])],
            {"x": ((2,), "float32")},
            {"y": ((2,), "float32")},
        )
        with pytest.raises(forge.InvalidInput, match="nowhere"):
            forge.from_onnx(model)

    def test_string_input(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Identity", ["x"], ["y"])],
            {"x": ((2,), "float32")},
            {"y": ((2,), "float32")},
        )
        for value in (model.graph.input[0], model.graph.output[0]):
            value.type.tensor_type.elem_type = TensorProto.STRING
        with pytest.raises(forge.InvalidInput, match="STRING"):
            forge.from_onnx(model)

    def test_unknown_pass_and_reserved_argument(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Relu", ["x"], ["y"])],
            {"x": ((2,), "float32")},
            {"y": ((2,), "float32")},
        )
        with pytest.raises(forge.InvalidInput, match="no folding pass"):
            forge.from_onnx(model, fold=("everything",))
        with pytest.raises(forge.InvalidInput, match="keep_params_in_input"):
            forge.from_onnx(model, frontend_args={"keep_params_in_input": True})
        assert forge.from_onnx(model, frontend_args={"sanitize_input_names": False}).inputs


@pytest.mark.parametrize(
    ("node", "inputs"),
    [
        (helper.make_node("IsInf", ["x"], ["y"], detect_negative=0), 1),
        (helper.make_node("LayerNormalization", ["x", "x"], ["y", "m"]), 1),
    ],
)
def test_known_silent_faults_are_refused(
    node: Any, inputs: int, onnx_model: Callable[..., Any]
) -> None:
    dtype = "bool" if node.op_type == "IsInf" else "float32"
    outputs = dict.fromkeys(node.output, (None, dtype))
    model = onnx_model([node], {"x": ((4,), "float32")}, outputs)
    with pytest.raises(forge.UnsupportedOperator) as caught:
        forge.from_onnx(model)
    assert caught.value.operators == (f"ai.onnx::{node.op_type}",)


@pytest.mark.parametrize("operator", ["Mul", "Sub", "Div", "Add"])
@pytest.mark.parametrize("fold", [True, ("batch_norm",), False])
def test_a_map_that_broadcasts_its_data_is_not_folded_into_a_layer(
    operator: str, fold: Any, onnx_model: Callable[..., Any]
) -> None:
    """A grey picture times a constant per channel: the layer would read past the one channel."""
    nodes = [
        helper.make_node(operator, ["x", "d"], ["a"]),
        helper.make_node("Conv", ["a", "w"], ["y"]),
    ]
    constants = {"d": normal(4, 1, 1) + 3, "w": normal(3, 4, 3, 3)}
    model = onnx_model(nodes, {"x": ((1, 1, 5, 5), "float32")}, {"y": (None, "float32")}, constants)
    x = normal(1, 1, 5, 5)
    ours = run(model, {"x": x}, fold=fold)["y"]
    np.testing.assert_allclose(ours, native(model, {"x": x})[0], rtol=1e-4, atol=1e-4)


def test_a_custom_operator_inside_a_branch_is_not_taken_for_the_standard_one(
    onnx_model: Callable[..., Any],
) -> None:
    def branch(name: str, domain: str) -> Any:
        return helper.make_graph(
            [helper.make_node("Relu", ["x"], [name], domain=domain)],
            name,
            [],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
        )

    node = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "my"), else_branch=branch("e", "")
    )
    model = onnx_model(
        [node],
        {"c": ((), "bool"), "x": ((2,), "float32")},
        {"y": (None, "float32")},
        domains=["my"],
    )
    with pytest.raises(forge.UnsupportedOperator) as caught:
        forge.from_onnx(model, custom_ops={"my::Relu": lambda builder, inputs, attrs: inputs[0]})
    assert caught.value.operators == ("my::Relu",)


class TestRefusedForTheirShapes:
    def test_resize_by_scales_that_give_no_whole_size(self, onnx_model: Callable[..., Any]) -> None:
        def model(scale: float) -> Any:
            return onnx_model(
                [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="nearest")],
                {"x": ((1, 1, 4, 6), "float32")},
                {"y": (None, "float32")},
                {"s": np.array([1, 1, scale, scale], "float32")},
            )

        with pytest.raises(forge.UnsupportedOperator, match="whole sizes"):
            forge.from_onnx(model(0.6))
        for scale in (0.5, 2.0):
            x = normal(1, 1, 4, 6)
            np.testing.assert_array_equal(
                run(model(scale), {"x": x})["y"], native(model(scale), {"x": x})[0]
            )

    def test_expand_to_a_shape_from_outside(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Expand", ["x", "s"], ["y"])],
            {"x": ((3, 1), "float32"), "s": ((3,), "int64")},
            {"y": (None, "float32")},
        )
        with pytest.raises(forge.UnsupportedOperator, match="computed at run time"):
            forge.from_onnx(model)

    def test_a_product_over_nothing(self, onnx_model: Callable[..., Any]) -> None:
        nodes = [
            helper.make_node("Slice", ["x", "zero", "zero", "one"], ["e"]),
            helper.make_node("MatMul", ["e", "w"], ["y"]),
        ]
        constants = {
            "zero": np.array([0]),
            "one": np.array([1]),
            "w": np.zeros((0, 3), "float32"),
        }
        model = onnx_model(nodes, {"x": ((2, 3), "float32")}, {"y": (None, "float32")}, constants)
        with pytest.raises(forge.UnsupportedOperator, match=r"relax\.matmul"):
            forge.from_onnx(model)

    def test_an_input_of_nothing(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("Abs", ["x"], ["y"])],
            {"x": ((2, 0), "float32")},
            {"y": (None, "float32")},
        )
        with pytest.raises(forge.InvalidInput, match="size 0"):
            forge.from_onnx(model)

    def test_a_symbolic_dimension_of_nothing(self, onnx_model: Callable[..., Any]) -> None:
        model = onnx_model(
            [helper.make_node("ReduceMax", ["x"], ["y"], axes=[0], keepdims=0)],
            {"x": (("N", 2), "float32")},
            {"y": (None, "float32")},
        )
        with pytest.raises(forge.InvalidInput, match="'N' is 0"):
            forge.from_onnx(model).compile()(np.zeros((0, 2), "float32"))


def test_a_result_of_another_type_than_promised_is_an_error(
    onnx_model: Callable[..., Any],
) -> None:
    """TVM computes an integer mean as int64, whatever type it promises."""
    model = onnx_model(
        [helper.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=0)],
        {"x": ((4, 2), "int32")},
        {"y": (None, "int32")},
    )
    with pytest.raises(forge.RunError, match="int64"):
        forge.from_onnx(model).compile()(np.arange(8, dtype="int32").reshape(4, 2))


def test_stale_inner_shapes_are_not_believed(onnx_model: Callable[..., Any]) -> None:
    nodes = [
        helper.make_node("Abs", ["x"], ["a"]),
        helper.make_node("Shape", ["a"], ["s"]),
        helper.make_node("Reshape", ["a", "s"], ["y"]),
    ]
    model = onnx_model(nodes, {"x": (("N", 4), "float32")}, {"y": (None, "float32")})
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [1, 4]))
    x = normal(4, 4)
    assert run(model, {"x": x})["y"].shape == (4, 4)
