from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(3)
IMAGE = RNG.normal(size=(2, 3, 7, 6)).astype("float32")
LINE = RNG.normal(size=(2, 3, 9)).astype("float32")
VOLUME = RNG.normal(size=(1, 2, 5, 4, 6)).astype("float32")


def pool(name: str, **options: Any) -> Any:
    return lambda x: getattr(op.nn, name)(x, **options)


def test_pooling_agrees_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    options: dict[str, dict[str, Any]] = {
        "plain": {"pool_size": 2, "strides": 2},
        "overlapping": {"pool_size": (3, 2), "strides": (2, 1), "padding": (1, 0)},
        "uneven": {"pool_size": 3, "strides": 2, "padding": (0, 1, 2, 1)},
        "ceil": {"pool_size": 3, "strides": 2, "ceil_mode": True},
        "ceil_padded": {"pool_size": 2, "strides": 2, "padding": 1, "ceil_mode": True},
    }
    cases: dict[str, Any] = {}
    for name, option in options.items():
        cases[f"max_{name}"] = (pool("max_pool2d", **option), (IMAGE,))
        for count in (True, False):
            average = pool("avg_pool2d", **option, count_include_pad=count)
            cases[f"avg_{name}_{count}"] = (average, (IMAGE,))
    cases["dilated"] = (pool("max_pool2d", pool_size=2, dilation=(2, 3)), (IMAGE,))
    last = np.moveaxis(IMAGE, 1, -1).copy()
    cases["max_nhwc"] = (pool("max_pool2d", pool_size=2, strides=2, layout="NHWC"), (last,))
    cases["avg_nhwc"] = (pool("avg_pool2d", pool_size=3, padding=1, layout="NHWC"), (last,))
    cases["max_1d"] = (pool("max_pool1d", pool_size=3, strides=2, padding=1), (LINE,))
    cases["avg_1d"] = (pool("avg_pool1d", pool_size=4, strides=3, ceil_mode=True), (LINE,))
    cases["max_3d"] = (pool("max_pool3d", pool_size=2, strides=2, ceil_mode=True), (VOLUME,))
    cases["avg_3d"] = (pool("avg_pool3d", pool_size=(2, 3, 2), padding=1), (VOLUME,))
    cases["max_int"] = (
        pool("max_pool2d", pool_size=2, padding=1),
        ((IMAGE * 50).astype("int8"),),
    )
    cases["adaptive"] = (pool("adaptive_avg_pool2d", output_size=(3, 4)), (IMAGE,))
    cases["global"] = (pool("adaptive_avg_pool2d", output_size=1), (IMAGE,))
    cases["same"] = (pool("adaptive_avg_pool2d"), (IMAGE,))
    cases["enlarged"] = (pool("adaptive_avg_pool1d", output_size=13), (LINE,))
    cases["adaptive_nhwc"] = (
        pool("adaptive_avg_pool2d", output_size=(2, 5), layout="NHWC"),
        (last,),
    )
    cases["adaptive_3d"] = (pool("adaptive_avg_pool3d", output_size=(2, 3, 4)), (VOLUME,))
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        # an average of some ten numbers in float32
        assert_allclose(ours, compiled, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize(
    ("size", "stride", "padding"), [(3, 2, 1), (2, 2, 1), (4, 3, 2), (3, 3, 0)]
)
def test_averages_agree_with_torch(  # type: ignore[no-untyped-def]
    evaluated, ceil: bool, count: bool, size: int, stride: int, padding: int
) -> None:
    torch = pytest.importorskip("torch")
    build = pool(
        "avg_pool2d",
        pool_size=size,
        strides=stride,
        padding=padding,
        ceil_mode=ceil,
        count_include_pad=count,
    )
    expected = torch.nn.functional.avg_pool2d(
        torch.from_numpy(IMAGE), size, stride, padding, ceil, count
    )
    assert_allclose(evaluated(build, IMAGE), expected, rtol=1e-6, atol=1e-6)


def test_a_maximum_keeps_nan_and_infinity(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    data = np.full((1, 1, 4, 4), -np.inf, "float32")
    data[0, 0, 0, 1] = np.nan
    data[0, 0, 3, 3] = np.inf
    # compiled code starts from the lowest finite number and lets a maximum swallow NaN
    # (apache/tvm 19572): it has -3.4e38 for each of the first three
    ours = evaluated(pool("max_pool2d", pool_size=2, strides=2, padding=0), data)
    assert_array_equal(ours[0, 0], [[np.nan, -np.inf], [-np.inf, np.inf]])
    expected = torch.nn.functional.max_pool2d(torch.from_numpy(data), 3, 2, 1, ceil_mode=True)
    padded = pool("max_pool2d", pool_size=3, strides=2, padding=1, ceil_mode=True)
    assert_array_equal(evaluated(padded, data), expected)


def test_no_window_starts_behind_the_tensor(evaluated) -> None:  # type: ignore[no-untyped-def]
    data = np.ones((1, 3, 17, 17), "float32")
    build = pool("avg_pool2d", pool_size=2, strides=2, padding=1, ceil_mode=True)
    # apache/tvm 18594 gave 10x10
    assert evaluated(build, data).shape == (1, 3, 9, 9)


def test_averages_are_as_wide_as_asked(evaluated) -> None:  # type: ignore[no-untyped-def]
    data = np.array([[[1.0, 1.0 + 2.0**-23]]], "float32")
    build = pool("avg_pool1d", pool_size=2)
    assert_array_equal(evaluated(build, data), np.array([[[1.0]]], "float32"))
    assert_array_equal(evaluated(build, data, width=np.float64), [[[1.0 + 2.0**-24]]])


def test_a_window_larger_than_the_tensor_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotEvaluable, match=r"max_pool1d.*larger"):
        evaluated(pool("max_pool1d", pool_size=4), np.zeros((1, 1, 3), "float32"))
