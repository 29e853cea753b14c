from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.passes.affine import Affine, read_batch_norm, read_elementwise
from forge.passes.constants import ConstantFinder
from forge.passes.layers import NotFoldable

DATA = relax.Var("data", relax.TensorType((2, 3, 4), "float32"))
FIND = ConstantFinder().array


def normalized(call: Any) -> Any:
    return relax.BlockBuilder().normalize(call)


def test_maps_compose_in_order() -> None:
    first = Affine(np.array([2.0]), np.array([3.0]))
    second = Affine(np.array([5.0]), np.array([7.0]))
    both = first.then(second)
    assert (both.scale.item(), both.shift.item()) == (10.0, 22.0)


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("center", [True, False])
def test_batch_norm_as_a_map(scale: bool, center: bool) -> None:
    gamma, beta, mean, variance = (np.array(v, "float32") for v in ([2], [3], [5], [4]))
    data = relax.Var("data", relax.TensorType((2, 1), "float32"))
    parameters = map(constant, (gamma, beta, mean, variance))
    call = op.nn.batch_norm(
        data, *parameters, 1, epsilon=0.5, scale=scale, center=center, training=False
    )
    found = read_batch_norm(normalized(call), 1, 1, FIND)
    expected = (2.0 if scale else 1.0) / np.sqrt(4.5)
    assert_allclose(found.scale, [expected], rtol=1e-15)
    assert_allclose(found.shift, [(3.0 if center else 0.0) - 5.0 * expected], rtol=1e-15)


def test_a_negative_variance_is_refused() -> None:
    values = [np.array([v], "float32") for v in (1, 0, 0, -2)]
    data = relax.Var("data", relax.TensorType((2, 1), "float32"))
    call = normalized(op.nn.batch_norm(data, *map(constant, values), 1, training=False))
    with pytest.raises(NotFoldable, match="not finite"):
        read_batch_norm(call, 1, 1, FIND)


def test_subtraction_from_a_constant_negates() -> None:
    call = normalized(op.subtract(constant(np.array([[1], [2], [3]], "float32")), DATA))
    found = read_elementwise(call, DATA, 1, 3, FIND)
    assert found is not None
    assert found.scale.tolist() == [-1.0, -1.0, -1.0]
    assert found.shift.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    "call",
    [
        op.add(DATA, constant(np.ones(4, "float32"))),
        op.add(DATA, constant(np.ones((2, 3, 1), "float32"))),
        op.divide(DATA, constant(np.zeros(1, "float32"))),
        op.divide(constant(np.ones(1, "float32")), DATA),
        op.multiply(DATA, DATA),
    ],
)
def test_what_is_no_map_of_the_channels_is_none(call: Any) -> None:
    assert read_elementwise(normalized(call), DATA, 1, 3, FIND) is None
