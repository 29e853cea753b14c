from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from numpy.testing import assert_allclose
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.evaluate import evaluate_function
from forge.inspection import count_operators
from forge.passes.fold_batch_norm import fold_batch_norm

RNG = np.random.default_rng(7)


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RNG.normal(size=shape).astype(dtype)


def norm(builder: Any, data: Any, channels: int, axis: int = 1, **options: Any) -> Any:
    """Batch norm with statistics far from 0 and 1, and gammas of both signs."""
    gamma, beta, mean = (normal(channels) for _ in range(3))
    variance = RNG.uniform(0.01, 4.0, channels).astype("float32")
    call = op.nn.batch_norm(
        data, *map(constant, (gamma, beta, mean * 3, variance)), axis, training=False, **options
    )
    result = builder.emit(call)
    return builder.emit(relax.TupleGetItem(result, 0))


def conv(data: Any, weight: np.ndarray | Any, **options: Any) -> Any:
    weight = constant(weight) if isinstance(weight, np.ndarray) else weight
    return op.nn.conv2d(data, weight, **options)


def check(module: Any, shape: tuple[int, ...], left: int = 0) -> tuple[str, ...]:
    """Fold; compare with the unfolded module in float64; return the step's details."""
    folded, step = fold_batch_norm(module)
    assert count_operators(folded)["relax.nn.batch_norm"] == left, step.details
    data = RNG.normal(size=shape)
    wide = np.dtype("float64")
    expected = evaluate_function(module, [data], width=wide)
    result = evaluate_function(folded, [data], width=wide)
    # the folded weights are rounded to float32; sums have at most some hundred terms
    assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    return step.details


def test_convolution_without_bias(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        return norm(builder, builder.emit(conv(params[0], normal(8, 3, 3, 3), padding=1)), 8)

    details = check(module_of(build, ((2, 3, 6, 5), "float32")), (2, 3, 6, 5))
    assert details == ("batch_norm lv1: folded into conv2d lv",)


@pytest.mark.parametrize("form", ["reshape", "(1,C,1,1)", "(C,1,1)", "left", "subtract", "scalar"])
def test_every_form_of_bias(module_of: Any, form: str) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(8, 3, 3, 3), strides=2))
        bias = normal(8)
        if form == "reshape":
            bias = builder.emit(op.reshape(constant(bias), (1, 8, 1, 1)))
        elif form == "(C,1,1)":
            bias = constant(bias.reshape(8, 1, 1))
        elif form == "scalar":
            bias = constant(bias[0])
        else:
            bias = constant(bias.reshape(1, 8, 1, 1))
        if form == "left":
            out = builder.emit(op.add(bias, out))
        elif form == "subtract":
            out = builder.emit(op.subtract(out, bias))
        else:
            out = builder.emit(op.add(out, bias))
        return norm(builder, out, 8)

    module = module_of(build, ((1, 3, 9, 7), "float32"))
    check(module, (1, 3, 9, 7))
    folded, _ = fold_batch_norm(module)
    assert count_operators(folded) == {"relax.nn.conv2d": 1, "relax.add": 1}


def test_a_chain_of_norms_folds_and_relu_ends_it(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(4, 3, 3, 3)))
        out = norm(builder, norm(builder, out, 4), 4)
        out = builder.emit(op.nn.relu(out))
        return norm(builder, out, 4)

    details = check(module_of(build, ((1, 3, 5, 5), "float32")), (1, 3, 5, 5), left=1)
    assert [line.partition(": ")[2].startswith("folded") for line in details] == [True, True, False]


@pytest.mark.parametrize("decomposed", ["multiply+add", "subtract+divide+multiply+add"])
def test_a_norm_that_was_taken_apart(module_of: Any, decomposed: str) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(
            conv(params[0], normal(3, 3, 2, 8), data_layout="NHWC", kernel_layout="HWIO")
        )
        for name in decomposed.split("+"):
            out = builder.emit(getattr(op, name)(out, constant(normal(8))))
        return builder.emit(op.nn.relu(out))

    module = module_of(build, ((1, 5, 6, 2), "float32"))
    folded, step = fold_batch_norm(module)
    assert count_operators(folded) == {"relax.nn.conv2d": 1, "relax.add": 1, "relax.nn.relu": 1}
    assert step.count == 1
    check(module, (1, 5, 6, 2))


def test_a_bias_alone_is_no_norm(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(op.matmul(params[0], constant(normal(3, 4))))
        out = builder.emit(op.multiply(out, constant(np.float32(0.125))))
        return builder.emit(op.add(out, constant(normal(4))))

    module = module_of(build, ((2, 3), "float32"))
    folded, step = fold_batch_norm(module)
    assert folded.same_as(module)
    assert step.details == ()


@pytest.mark.parametrize("side", ["right", "left", "batched"])
def test_matrix_products(module_of: Any, side: str) -> None:
    shape = (2, 3, 5)

    def build(builder: Any, params: list[Any]) -> Any:
        if side == "left":
            out = builder.emit(op.matmul(constant(normal(4, 3)), params[0]))
            return norm(builder, out, 4, axis=1)
        weight = normal(2, 5, 4) if side == "batched" else normal(5, 4)
        out = builder.emit(op.matmul(params[0], constant(weight)))
        out = builder.emit(op.add(out, constant(normal(4))))
        return norm(builder, out, 4, axis=-1)

    check(module_of(build, (shape, "float32")), shape)


def test_a_transposed_weight_is_seen_through(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        weight = builder.emit(op.permute_dims(constant(normal(4, 5))))
        return norm(builder, builder.emit(op.matmul(params[0], weight)), 4)

    check(module_of(build, ((3, 5), "float32")), (3, 5))


def test_before_a_layer(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = norm(builder, params[0], 3)
        out = builder.emit(conv(out, normal(4, 3, 3, 3)))
        out = builder.emit(op.add(out, constant(normal(1, 4, 1, 1))))
        return builder.emit(op.nn.relu(out))

    module = module_of(build, ((1, 3, 5, 5), "float32"))
    assert check(module, (1, 3, 5, 5)) == ("batch_norm lv: folded into conv2d lv2",)
    folded, _ = fold_batch_norm(module)
    assert count_operators(folded)["relax.add"] == 1


def test_before_a_padded_layer_only_a_scale_folds(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        return builder.emit(conv(norm(builder, params[0], 3), normal(4, 3, 3, 3), padding=1))

    (line,) = check(module_of(build, ((1, 3, 5, 5), "float32")), (1, 3, 5, 5), left=1)
    assert "padding" in line

    def pure_scale(builder: Any, params: list[Any]) -> Any:
        values = (normal(3), np.zeros(3, "f4"), np.zeros(3, "f4"), np.ones(3, "f4") * 5)
        result = builder.emit(
            op.nn.batch_norm(params[0], *map(constant, values), 1, training=False)
        )
        out = builder.emit(relax.TupleGetItem(result, 0))
        return builder.emit(conv(out, normal(4, 3, 3, 3), padding=1))

    check(module_of(pure_scale, ((1, 3, 5, 5), "float32")), (1, 3, 5, 5))


def test_between_and_around_layers(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = norm(builder, params[0], 3)
        out = norm(builder, builder.emit(conv(out, normal(4, 3, 2, 2))), 4)
        return norm(builder, builder.emit(conv(out, normal(5, 4, 2, 2))), 5)

    module = module_of(build, ((1, 3, 5, 5), "float32"))
    check(module, (1, 3, 5, 5))
    folded, step = fold_batch_norm(module)
    assert step.count == 3
    assert count_operators(folded) == {"relax.nn.conv2d": 2, "relax.add": 2}


def left_reason(module: Any) -> str:
    folded, step = fold_batch_norm(module)
    assert folded.same_as(module)
    (line,) = step.details
    assert ": left, because " in line
    return line


def test_training_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(4, 3, 1, 1)))
        parameters = [constant(np.ones(4, "float32"))] * 4
        result = builder.emit(op.nn.batch_norm(out, *parameters, 1, training=True))
        return builder.emit(relax.TupleGetItem(result, 0))

    assert "training" in left_reason(module_of(build, ((1, 3, 4, 4), "float32")))


def test_a_second_reader_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(4, 3, 1, 1)))
        return [norm(builder, out, 4), builder.emit(op.nn.relu(out))]

    assert "another reader" in left_reason(module_of(build, ((1, 3, 4, 4), "float32")))


def test_a_biased_second_reader_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(4, 3, 1, 1)))
        out = builder.emit(op.add(out, constant(normal(1, 4, 1, 1))))
        return [norm(builder, out, 4), builder.emit(op.nn.relu(out))]

    assert "another reader" in left_reason(module_of(build, ((1, 3, 4, 4), "float32")))


def test_used_statistics_are_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(4, 3, 1, 1)))
        parameters = [constant(np.ones(4, "float32"))] * 4
        result = builder.emit(op.nn.batch_norm(out, *parameters, 1, training=False))
        return [builder.emit(relax.TupleGetItem(result, index)) for index in (0, 1)]

    assert "mean or variance" in left_reason(module_of(build, ((1, 3, 4, 4), "float32")))


def test_a_weight_that_is_an_input_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        return norm(builder, builder.emit(conv(params[0], params[1])), 4)

    shapes = ((1, 3, 4, 4), "float32"), ((4, 3, 1, 1), "float32")
    assert "weight is not constant" in left_reason(module_of(build, *shapes))


def test_relu_between_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(op.nn.relu(builder.emit(conv(params[0], normal(4, 3, 1, 1)))))
        return norm(builder, out, 4)

    assert "no layer" in left_reason(module_of(build, ((1, 3, 4, 4), "float32")))


def test_another_axis_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(op.matmul(params[0], constant(normal(4, 4))))
        return norm(builder, out, 4, axis=1)

    assert "axis" in left_reason(module_of(build, ((2, 4, 4), "float32")))


def test_a_scale_beyond_the_weights_dtype_is_left(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], np.full((2, 1, 1, 1), 60000, "float16")))
        values = (np.full(2, 9), np.zeros(2), np.zeros(2), np.ones(2))
        parameters = [constant(value.astype("float16")) for value in values]
        result = builder.emit(op.nn.batch_norm(out, *parameters, 1, training=False))
        return builder.emit(relax.TupleGetItem(result, 0))

    assert "beyond float16" in left_reason(module_of(build, ((1, 1, 2, 2), "float16")))


def test_dynamic_batch_folds_like_static(module_of: Any) -> None:
    batch = tvm.tirx.Var("n", "int64")

    def build(builder: Any, params: list[Any]) -> Any:
        return norm(builder, builder.emit(conv(params[0], normal(4, 3, 3, 3))), 4)

    check(module_of(build, ((batch, 3, 5, 5), "float32")), (3, 3, 5, 5))


def test_half_precision_data_with_single_precision_statistics(module_of: Any) -> None:
    # TVM's ONNX frontend casts to float32 and back around the norm
    def build(builder: Any, params: list[Any]) -> Any:
        out = builder.emit(conv(params[0], normal(4, 3, 3, 3, dtype="float16")))
        out = builder.emit(op.astype(out, "float32"))
        return builder.emit(op.astype(norm(builder, out, 4), "float16"))

    module = module_of(build, ((1, 3, 5, 5), "float16"))
    folded, _ = fold_batch_norm(module)
    assert count_operators(folded) == {"relax.nn.conv2d": 1, "relax.add": 1}
    data = normal(1, 3, 5, 5, dtype="float16")
    exact = evaluate_function(module, [data], width=np.dtype("float64"))
    for candidate in (module, folded):
        result = evaluate_function(candidate, [data])
        assert result.dtype == np.float16
        # 27 products a sum, weights and result rounded to 11 bits
        assert np.max(np.abs(result - exact)) < 2.0**-9 * np.max(np.abs(exact))


def test_compiled_results_agree(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        out = norm(builder, builder.emit(conv(params[0], normal(8, 3, 3, 3), strides=2)), 8)
        out = builder.emit(op.nn.relu(out))
        weight = constant(normal(8, 3, 2, 2))
        out = builder.emit(op.nn.conv2d_transpose(out, weight, groups=2, strides=2))
        return norm(builder, out, 6)

    module = module_of(build, ((1, 3, 9, 9), "float32"))
    folded, step = fold_batch_norm(module)
    assert step.count == 2
    data = normal(1, 3, 9, 9)
    exact = evaluate_function(module, [data.astype("float64")], width=np.dtype("float64"))
    machine = relax.VirtualMachine(tvm.compile(folded, "llvm"), tvm.cpu())
    result = machine["main"](tvm.runtime.tensor(data)).numpy()
    assert_allclose(result, exact, rtol=1e-4, atol=1e-4)
