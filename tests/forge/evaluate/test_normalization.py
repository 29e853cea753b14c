from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

RNG = np.random.default_rng(2)
DATA = (RNG.normal(size=(2, 6, 3, 4)) * 3 + 1).astype("float32")
CHANNELS = [RNG.uniform(0.5, 2.0, 6).astype("float32") for _ in range(4)]
LAST = [RNG.normal(size=4).astype("float32") for _ in range(2)]
PLANE = [RNG.normal(size=(3, 4)).astype("float32") for _ in range(2)]


def batch_norm(**options: Any) -> Any:
    return lambda x, g, b, m, v: op.nn.batch_norm(x, g, b, m, v, **options)


def layer_norm(axes: list[int], **options: Any) -> Any:
    return lambda x, g, b: op.nn.layer_norm(x, g, b, axes, **options)


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]


def test_normalisations_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    scale, shift, *_ = CHANNELS
    swapped = DATA.swapaxes(1, 3).copy()
    cases: dict[str, Any] = {
        "batch": (batch_norm(axis=1, training=False, epsilon=0.1), (DATA, *CHANNELS)),
        "batch_last": (batch_norm(axis=-1, training=False), (swapped, *CHANNELS)),
        "batch_bare": (
            batch_norm(axis=1, training=False, scale=False, center=False),
            (DATA, *CHANNELS),
        ),
        "batch_training": (batch_norm(axis=1, training=True, momentum=0.3), (DATA, *CHANNELS)),
        "layer": (layer_norm([-1], epsilon=0.01), (DATA, *LAST)),
        "layer_plane": (layer_norm([2, 3]), (DATA, *PLANE)),
        "layer_negative": (layer_norm([-2, -1]), (DATA, *PLANE)),
        "group": (
            lambda x, g, b: op.nn.group_norm(x, g, b, 3, 1, [2, 3], 0.01),
            (DATA, scale, shift),
        ),
        "group_one": (
            lambda x, g, b: op.nn.group_norm(x, g, b, 1, 1, [2, 3]),
            (DATA, scale, shift),
        ),
        "instance": (
            lambda x, g, b: op.nn.instance_norm(x, g, b, 1, [2, 3], 0.01),
            (DATA, scale, shift),
        ),
        "rms": (lambda x, w: op.nn.rms_norm(x, w, [-1], 0.01), (DATA, LAST[0])),
        "rms_plane": (lambda x, w: op.nn.rms_norm(x, w, [2, 3]), (DATA, PLANE[0])),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        for one, other in zip(flat(ours), flat(compiled), strict=True):
            assert one.dtype == other.dtype, name
            # means and variances of some dozens of numbers in float32
            assert_allclose(one, other, rtol=2e-5, atol=2e-5, err_msg=name)


def test_batch_norm_gives_its_statistics_unchanged(evaluated) -> None:  # type: ignore[no-untyped-def]
    _, mean, variance = evaluated(batch_norm(axis=1, training=False), DATA, *CHANNELS)
    assert_array_equal(mean, CHANNELS[2])
    assert_array_equal(variance, CHANNELS[3])


def test_normalisations_agree_with_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    data, (scale, shift, mean, variance) = torch.from_numpy(DATA), map(torch.from_numpy, CHANNELS)
    functional = torch.nn.functional
    assert_allclose(
        evaluated(batch_norm(axis=1, training=False, epsilon=1e-3), DATA, *CHANNELS)[0],
        functional.batch_norm(data, mean, variance, scale, shift, eps=1e-3),
        rtol=1e-5,
        atol=1e-5,
    )
    assert_allclose(
        evaluated(layer_norm([2, 3]), DATA, *PLANE),
        functional.layer_norm(data, (3, 4), *map(torch.from_numpy, PLANE)),
        rtol=1e-5,
        atol=1e-5,
    )
    assert_allclose(
        evaluated(lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2, 3]), DATA, *CHANNELS[:2]),
        functional.group_norm(data, 2, scale, shift),
        rtol=1e-5,
        atol=1e-5,
    )
    assert_allclose(
        evaluated(lambda x, w: op.nn.rms_norm(x, w, [-1], 1e-5), DATA, LAST[0]),
        functional.rms_norm(data, (4,), torch.from_numpy(LAST[0]), 1e-5),
        rtol=1e-5,
        atol=1e-6,
    )


def test_parameters_follow_the_axes(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code takes them in the order of the tensor's dimensions, whatever the axes say
    swapped = evaluated(layer_norm([3, 2]), DATA, *(value.T.copy() for value in PLANE))
    assert_array_equal(swapped, evaluated(layer_norm([2, 3]), DATA, *PLANE))


def test_a_layer_of_large_values_keeps_its_variance(evaluated) -> None:  # type: ignore[no-untyped-def]
    # apache/tvm 19592: a mean of squares less the square of the mean is lost in float32
    data = np.array([[80000, 80001, 80002, 80003]], "float32")
    ones, zeros = np.ones(4, "float32"), np.zeros(4, "float32")
    expected = np.array([[-1.5, -0.5, 0.5, 1.5]]) / np.sqrt(1.25 + 1e-5)
    ours = evaluated(layer_norm([-1], epsilon=1e-5), data, ones, zeros)
    assert_allclose(ours, expected, rtol=1e-7)


def test_scale_and_shift_are_left_out_where_the_call_says_so(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code applies both whatever the call says
    bare = evaluated(layer_norm([-1], center=False, scale=False), DATA, *LAST)
    ones, zeros = np.ones(4, "float32"), np.zeros(4, "float32")
    assert_array_equal(bare, evaluated(layer_norm([-1]), DATA, ones, zeros))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_norm_is_rounded_once(evaluated, dtype: str) -> None:  # type: ignore[no-untyped-def]
    data, scale, shift = (value.astype(dtype) for value in (DATA, *LAST))
    narrow = evaluated(layer_norm([-1]), data, scale, shift)
    wide = evaluated(layer_norm([-1]), data, scale, shift, width=np.float64)
    assert narrow.dtype == dtype
    assert wide.dtype == np.float64
    assert_array_equal(narrow, wide.astype(dtype))


def test_nan_spoils_what_it_is_averaged_with_and_no_more(evaluated) -> None:  # type: ignore[no-untyped-def]
    data = DATA.copy()
    data[0, 0, 0, 0] = np.nan
    result = evaluated(layer_norm([-1]), data, *LAST)
    assert np.all(np.isnan(result[0, 0, 0]))
    assert np.isnan(result).sum() == 4
