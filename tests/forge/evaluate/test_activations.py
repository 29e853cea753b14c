from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

RNG = np.random.default_rng(8)
DATA = RNG.normal(size=(2, 3, 4)).astype("float32") * 3
SLOPES = np.array([0.1, -0.5, 2.0], "float32")
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -80.0, 80.0, 1e-30], "float32")


def test_activations_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases: dict[str, Any] = {
        "softmax": (lambda x: op.nn.softmax(x, 1), (DATA,)),
        "log_softmax": (lambda x: op.nn.log_softmax(x, -1), (DATA,)),
        "gelu": (op.nn.gelu, (DATA,)),
        "gelu_tanh": (op.nn.gelu_tanh, (DATA,)),
        "silu": (op.nn.silu, (DATA,)),
        "selu": (op.nn.selu, (DATA,)),
        "relu": (op.nn.relu, (DATA,)),
        "leakyrelu": (lambda x: op.nn.leakyrelu(x, 0.2), (DATA,)),
        "prelu": (lambda x, a: op.nn.prelu(x, a, 1), (DATA, SLOPES)),
        "prelu_negative": (lambda x, a: op.nn.prelu(x, a, -2), (DATA, SLOPES)),
        "softplus": (op.nn.softplus, (DATA,)),
        "softplus_steep": (lambda x: op.nn.softplus(x, 2.0, 3.0), (DATA,)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        # compiled code approximates the error function and tanh to about 1e-6
        assert_allclose(ours, compiled, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize(
    ("build", "theirs"),
    [
        (op.nn.relu, "relu"),
        (op.nn.gelu, "gelu"),
        (op.nn.silu, "silu"),
        (op.nn.selu, "selu"),
        (op.nn.softplus, "softplus"),
        (lambda x: op.nn.leakyrelu(x, 0.01), "leaky_relu"),
    ],
)
def test_special_values_are_as_in_torch(evaluated, build: Any, theirs: str) -> None:  # type: ignore[no-untyped-def]
    # compiled code makes zero of relu(NaN) (apache/tvm 19572)
    torch = pytest.importorskip("torch")
    expected = getattr(torch.nn.functional, theirs)(torch.from_numpy(SPECIAL))
    assert_allclose(evaluated(build, SPECIAL), expected, rtol=1e-6)


def test_a_row_with_a_mask_of_infinities_is_as_in_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    rows = np.array([[-np.inf, 1.0, 2.0], [-np.inf] * 3, [np.inf, 0.0, 1.0]], "float32")
    for build, name in ((op.nn.softmax, "softmax"), (op.nn.log_softmax, "log_softmax")):
        expected = getattr(torch.nn.functional, name)(torch.from_numpy(rows), -1)
        assert_allclose(evaluated(lambda x, b=build: b(x, -1), rows), expected, rtol=1e-6)


def test_softmax_does_not_overflow(evaluated) -> None:  # type: ignore[no-untyped-def]
    large = np.array([1000.0, 1000.0], "float32")
    assert_array_equal(evaluated(lambda x: op.nn.softmax(x, 0), large), [0.5, 0.5])


@pytest.mark.parametrize("build", [op.nn.gelu, op.nn.selu, op.nn.silu, op.nn.softplus])
def test_an_activation_is_rounded_once(evaluated, build: Any) -> None:  # type: ignore[no-untyped-def]
    for dtype in ("float16", "float32"):
        data = DATA.astype(dtype)
        wide = evaluated(build, data, width=np.float64)
        assert wide.dtype == np.float64
        assert_array_equal(evaluated(build, data), wide.astype(dtype))
