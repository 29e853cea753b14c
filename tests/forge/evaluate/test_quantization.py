from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(11)
DATA = (RNG.normal(size=(2, 3, 5)) * 40).astype("float32")
# ties, what is beyond int8, and infinities
EDGES = np.array([0.5, 1.5, -0.5, -2.5, 127.49, 127.5, 300.0, -300.0, np.inf, -np.inf], "float32")
SCALES = np.array([0.1, 0.5, 2.0], "float32")
ZEROS = np.array([-3, 0, 7], "int8")
ONE, ZERO = np.array(1.0, "float32"), np.array(0, "int8")


def quantize(dtype: str = "int8", axis: int = 0) -> Any:
    return lambda x, s, z: op.quantize(x, s, z, axis, dtype)


def dequantize(dtype: str = "float32", axis: int = 0) -> Any:
    return lambda x, s, z: op.dequantize(x, s, z, axis, dtype)


def test_quantising_agrees_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    steps = RNG.integers(-128, 128, (2, 3, 5)).astype("int8")
    cases: dict[str, Any] = {
        "edges": (quantize(), (EDGES, ONE, ZERO)),
        "unsigned": (quantize("uint8"), (EDGES, ONE, np.array(3, "uint8"))),
        "channels": (quantize(axis=1), (DATA, SCALES, ZEROS)),
        "negative_axis": (quantize(axis=-2), (DATA, SCALES, ZEROS)),
        "one": (dequantize(), (steps, SCALES[:1], ZEROS[:1])),
        "back": (dequantize(axis=1), (steps, SCALES, ZEROS)),
        "bytes": (dequantize(), (steps.astype("uint8"), ONE, np.array(128, "uint8"))),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_array_equal(ours, compiled, err_msg=name)


def test_quantising_agrees_with_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    expected = torch.quantize_per_tensor(torch.from_numpy(DATA), 0.37, 5, torch.qint8)
    scale, zero = np.array(0.37, "float32"), np.array(5, "int8")
    steps = evaluated(quantize(), DATA, scale, zero)
    # torch multiplies by the inverse of the scale
    assert np.max(np.abs(steps - expected.int_repr().numpy().astype(int))) <= 1
    back = evaluated(dequantize(), steps, scale, zero)
    assert_allclose(back, np.clip(DATA, (-128 - 5) * 0.37, (127 - 5) * 0.37), atol=0.37 / 2 + 1e-5)


def test_what_is_dequantised_is_as_wide_as_asked(evaluated) -> None:  # type: ignore[no-untyped-def]
    scale, step, zero = np.array(0.1, "float32"), np.array([3], "int8"), np.array(0, "int8")
    narrow = evaluated(dequantize(), step, scale, zero)
    wide = evaluated(dequantize(), step, scale, zero, width=np.float64)
    assert wide[0] == 3 * np.float64(np.float32(0.1))
    assert narrow[0] == np.float32(wide[0])
    clipped = evaluated(dequantize("float16"), step, np.array(1e5, "float32"), zero)
    assert clipped[0] == np.float16(65504)


def test_nan_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotEvaluable, match=r"relax\.quantize: NaN"):
        evaluated(quantize(), np.array([np.nan], "float32"), ONE, ZERO)
