from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.passes.constants import ConstantFinder
from forge.passes.layers import Layer, NotFoldable, find_layer

RNG = np.random.default_rng(3)


def layer(call: Any) -> Layer:
    return find_layer(relax.BlockBuilder().normalize(call), ConstantFinder().array)


def data(*shape: int) -> Any:
    return relax.Var("data", relax.TensorType(shape, "float32"))


def test_a_grouped_convolution_scales_by_group() -> None:
    weight = RNG.normal(size=(4, 3, 2, 2)).astype("float32")
    found = layer(op.nn.conv2d(data(1, 6, 5, 5), constant(weight), groups=2))
    assert (found.inputs, found.outputs) == (6, 4)
    scale = np.arange(1.0, 7.0)
    expected = weight.astype("float64")
    expected[:2] *= scale[:3].reshape(1, 3, 1, 1)
    expected[2:] *= scale[3:].reshape(1, 3, 1, 1)
    assert_allclose(found.scaled_inputs(scale), expected, rtol=1e-15)
    outputs = np.arange(1.0, 5.0)
    assert_allclose(
        found.scaled_outputs(outputs), weight.astype("f8") * outputs.reshape(4, 1, 1, 1), rtol=1e-15
    )


def test_a_grouped_transposed_convolution_scales_by_group() -> None:
    weight = RNG.normal(size=(4, 3, 2, 2)).astype("float32")
    found = layer(op.nn.conv2d_transpose(data(1, 4, 5, 5), constant(weight), groups=2))
    assert (found.inputs, found.outputs) == (4, 6)
    scale = np.arange(1.0, 7.0)
    expected = weight.astype("float64")
    expected[:2] *= scale[:3].reshape(1, 3, 1, 1)
    expected[2:] *= scale[3:].reshape(1, 3, 1, 1)
    assert_allclose(found.scaled_outputs(scale), expected, rtol=1e-15)


def test_the_response_to_a_shift_sums_the_weights() -> None:
    weight = RNG.normal(size=(5, 4)).astype("float32")
    shift = RNG.normal(size=5)
    found = layer(op.matmul(data(3, 5), constant(weight)))
    assert_allclose(found.response(shift), shift @ weight.astype("float64"), rtol=1e-14)


@pytest.mark.parametrize(
    "call",
    [
        lambda w: op.nn.conv2d(data(1, 3, 5, 5), w, padding=1),
        lambda w: op.nn.conv2d_transpose(data(1, 3, 5, 5), w),
    ],
)
def test_a_response_that_differs_between_positions_is_refused(call: Any) -> None:
    found = layer(call(constant(np.ones((3, 3, 3, 3), "float32"))))
    assert not found.response(np.zeros(3)).any()
    with pytest.raises(NotFoldable):
        found.response(np.ones(3))


def test_an_integer_weight_is_refused() -> None:
    integers = relax.Var("data", relax.TensorType((2, 3), "int8"))
    with pytest.raises(NotFoldable, match="int8"):
        layer(op.matmul(integers, constant(np.ones((3, 3), "int8"))))


def test_a_layer_is_not_rebuilt_on_data_that_it_does_not_fit() -> None:
    weight = constant(RNG.normal(size=(4, 3, 2, 2)).astype("float32"))
    found = layer(op.nn.conv2d(data(1, 3, 5, 5), weight))
    assert found.rebuilt(weight, data(1, 3, 5, 5)).args[1].same_as(weight)
    for shape in ((1, 1, 5, 5), (1, 3, 6, 5), (2, 3, 5, 5)):
        with pytest.raises(NotFoldable):
            found.rebuilt(weight, data(*shape))
