from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
import tvm
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge import InvalidInput
from forge._tvm import constant
from forge.evaluate import NotEvaluable, evaluate_function

BATCH = tvm.tirx.Var("n", "int64")
VECTOR = relax.TensorType((4,), "float32")
DATA = np.arange(4, dtype="float32")


def build(params: dict[str, Any], body: Any) -> Any:
    builder = relax.BlockBuilder()
    variables = [relax.Var(name, value_type) for name, value_type in params.items()]
    with builder.function("main", variables):
        builder.emit_func_output(body(builder, *variables))
    return builder.get()


def test_symbolic_dimensions_are_taken_from_the_inputs() -> None:
    def body(builder: Any, data: Any) -> Any:
        halves = builder.emit(op.reshape(data, (BATCH * 2, 2)))
        sizes = builder.emit(op.shape_to_tensor(builder.emit(op.shape_of(halves))))
        return relax.Tuple([halves, sizes])

    module = build({"data": relax.TensorType((BATCH, 4), "float32")}, body)
    values = np.arange(12, dtype="float32").reshape(3, 4)
    halves, sizes = evaluate_function(module, [values])  # type: ignore[misc]
    assert_array_equal(halves, values.reshape(6, 2))
    assert_array_equal(sizes, np.array([6, 2], "int64"))


def test_a_width_replaces_every_float() -> None:
    def body(builder: Any, data: Any) -> Any:
        total = builder.emit(op.add(data, constant(np.array([1.0], "float16"))))
        return builder.emit(op.astype(total, "float32"))

    module = build({"data": relax.TensorType((1,), "float16")}, body)
    tiny = np.array([2.0**-20])
    assert_array_equal(evaluate_function(module, [tiny], width=np.float64), [1.0 + 2.0**-20])
    own_result = evaluate_function(module, [tiny.astype("float16")])
    assert_array_equal(own_result, np.array([1.0], "float32"))


def test_nothing_between_inputs_and_outputs_is_narrower_than_the_width() -> None:
    def body(builder: Any, data: Any, kernel: Any, scale: Any) -> Any:
        seen = builder.emit(op.nn.conv2d(data, kernel, padding=1))
        normal = builder.emit(op.nn.layer_norm(seen, scale, scale, [-1]))
        larger = builder.emit(op.image.resize2d(normal, (7, 5)))
        pooled = builder.emit(op.nn.avg_pool2d(larger, 3, 2))
        half = builder.emit(op.astype(builder.emit(op.nn.gelu(pooled)), "float16"))
        filled = builder.emit(op.full_like(half, relax.const(0.1, "float16")))
        spread = builder.emit(op.arange(0.0, 3.0, 1.0, "float32"))
        total = builder.emit(op.sum(builder.emit(op.add(half, filled))))
        return builder.emit(op.multiply(builder.emit(op.astype(total, "float32")), spread))

    rng = np.random.default_rng(0)
    shapes = {"x": (1, 2, 4, 4), "w": (3, 2, 3, 3), "g": (4,)}
    params = {name: relax.TensorType(shape, "float32") for name, shape in shapes.items()}
    inputs = [rng.normal(size=shape).astype("float32") for shape in shapes.values()]
    seen: dict[str, Any] = {}
    module = build(params, body)
    evaluate_function(module, inputs, width="float64", observe=seen.__setitem__)
    assert len(seen) == 12
    assert {value.dtype.name for value in seen.values()} == {"float64"}
    evaluate_function(module, inputs, observe=seen.__setitem__)
    assert {value.dtype.name for value in seen.values()} == {"float16", "float32"}


def test_an_unknown_operator_is_named() -> None:
    module = build({"x": VECTOR}, lambda b, x: b.emit(op.call_pure_packed("f", x, ty_args=VECTOR)))
    with pytest.raises(NotEvaluable, match=r"relax\.call_pure_packed\(f\)"):
        evaluate_function(module, [DATA])


def test_an_operator_without_a_value_is_named() -> None:
    module = build(
        {"x": VECTOR, "i": relax.TensorType((1,), "int64")},
        lambda b, x, i: b.emit(op.take(x, i)),
    )
    with pytest.raises(NotEvaluable, match=r"^relax\.take: an index out of range$") as caught:
        evaluate_function(module, [DATA, np.array([4])])
    assert caught.value.operator == "relax.take"
    assert caught.value.reason == "an index out of range"


def test_branches_and_functions_are_followed() -> None:
    builder = relax.BlockBuilder()
    flag, x = relax.Var("flag", relax.TensorType((), "bool")), relax.Var("x", VECTOR)
    y = relax.Var("y", VECTOR)
    with builder.function("twice", [y]):
        builder.emit_func_output(builder.emit(op.add(y, y)))
    twice = builder.get().get_global_var("twice")
    module = builder.get()
    result = relax.Var("r", VECTOR)

    def branch(value: Any) -> Any:
        inner = relax.Var("inner", VECTOR)
        return relax.SeqExpr([relax.BindingBlock([relax.VarBinding(inner, value)])], inner)

    chosen = relax.If(flag, branch(relax.Call(twice, [x])), branch(op.negative(x)))
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, chosen)])], result)
    module["main"] = relax.Function([flag, x], body, VECTOR)
    module = relax.transform.Normalize()(module)
    assert_array_equal(evaluate_function(module, [np.array(True), DATA]), 2 * DATA)
    assert_array_equal(evaluate_function(module, [np.array(False), DATA]), -DATA)


def test_a_loop_is_a_function_that_calls_itself() -> None:
    module = tvm.script.from_source(
        """
# from tvm.script import ir as I
# from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def loop(i: R.Tensor((), "int64"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        done = R.less_equal(i, R.const(0, "int64"))
        if done:
            r = x
        else:
            rest = R.subtract(i, R.const(1, "int64"))
            more = R.add(x, x)
            r = cls.loop(rest, more)
        return r
    @R.function
    def main(i: R.Tensor((), "int64"), x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        r = cls.loop(i, x)
        return r
"""
    )
    assert_array_equal(evaluate_function(module, [np.array(5), DATA]), 32 * DATA)
    with pytest.raises(NotEvaluable, match="loop"):
        evaluate_function(module, [np.array(10**6), DATA])


def test_a_local_function_reads_the_variables_around_it() -> None:
    module = tvm.script.from_source(
        """
# from tvm.script import ir as I
# from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.add(x, x)
        @R.function
        def shift(y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            r = R.subtract(y, a)
            return r
        b = shift(x)
        c = shift(b)
        return c
"""
    )
    assert_array_equal(evaluate_function(module, [DATA]), -3 * DATA)


def test_a_cast_of_a_shape_is_checked() -> None:
    def body(builder: Any, x: Any, i: Any) -> Any:
        found = builder.emit(op.nonzero(x))
        length = tvm.tirx.Var("m", "int64")
        known = builder.match_cast(found, relax.TensorType((1, length), "int64"))
        shape = builder.emit(relax.ShapeExpr([length, 1]))
        again = builder.match_cast(i, relax.TensorType((length,), "int64"))
        return relax.Tuple([builder.emit(op.reshape(known, shape)), again])

    module = build({"x": VECTOR, "i": relax.TensorType(dtype="int64", ndim=1)}, body)
    result, _ = evaluate_function(module, [DATA, np.zeros(3, "int64")])  # type: ignore[misc]
    assert_array_equal(result, [[1], [2], [3]])
    with pytest.raises(NotEvaluable, match="shape"):
        evaluate_function(module, [DATA, np.zeros(2, "int64")])


def test_values_are_let_go_after_their_last_use() -> None:
    alive: list[int] = []
    kept: list[weakref.ref[np.ndarray]] = []

    def observe(_: str, value: Any) -> None:
        kept.append(weakref.ref(value))
        del value
        gc.collect()
        alive.append(sum(ref() is not None for ref in kept))

    def body(builder: Any, x: Any) -> Any:
        first = builder.emit(op.exp(x))
        value = first
        for _ in range(6):
            value = builder.emit(op.sin(value))
        return builder.emit(op.add(value, first))

    evaluate_function(build({"x": VECTOR}, body), [DATA], observe=observe)
    # the first value lives on; of the chain at most the operand of the last call
    assert alive == [1, 2, 3, 3, 3, 3, 3, 3]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "0 inputs for 2"),
        ([DATA.astype("float64"), np.zeros((3, 2), "int64")], "float64"),
        ([DATA, np.zeros((3, 2), "int32")], "int32"),
        ([DATA[:3], np.zeros((3, 2), "int64")], r"input x is of a shape of \(3,\)"),
        ([DATA, np.zeros((3, 4), "int64")], "input i"),
        ([DATA, np.zeros(3, "int64")], "rank"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs: Any, message: str) -> None:
    params = {"x": VECTOR, "i": relax.TensorType((BATCH, 2), "int64")}
    module = build(params, lambda b, x, i: b.emit(op.exp(x)))
    with pytest.raises(InvalidInput, match=message):
        evaluate_function(module, inputs)


def test_no_constant_and_no_input_is_changed() -> None:
    weight = constant(DATA)
    module = build({"x": VECTOR}, lambda b, x: b.emit(op.add(x, weight)))
    data = DATA.copy()
    evaluate_function(module, [data])
    assert_array_equal(data, DATA)
    # a function may give its input back
    same = evaluate_function(build({"x": VECTOR}, lambda b, x: x), [data])
    assert same is data
