from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(1)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


def agree(results: dict[str, Any]) -> None:
    for name, (ours, compiled) in results.items():
        assert ours.dtype == compiled.dtype, name
        # compiled code sums some hundred products in float32
        assert_allclose(ours, compiled, rtol=1e-4, atol=1e-4, err_msg=name)


def test_convolutions_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    def conv2d(**options: Any) -> Any:
        return lambda x, w: op.nn.conv2d(x, w, **options)

    image = normal(2, 4, 6, 5)
    agree(
        both_ways(
            {
                "plain": (conv2d(), (image, normal(3, 4, 3, 2))),
                "strided": (conv2d(strides=(2, 1), padding=(1, 0)), (image, normal(3, 4, 3, 3))),
                "uneven": (conv2d(padding=(0, 1, 2, 3)), (image, normal(3, 4, 3, 3))),
                "dilated": (conv2d(dilation=(2, 1)), (image, normal(3, 4, 2, 3))),
                "grouped": (conv2d(groups=2), (image, normal(6, 2, 2, 2))),
                "depthwise": (conv2d(groups=4), (image, normal(8, 1, 2, 2))),
                "nhwc": (
                    conv2d(data_layout="NHWC", kernel_layout="HWIO", padding=1),
                    (normal(1, 5, 6, 4), normal(3, 3, 4, 2)),
                ),
                "conv1d": (
                    lambda x, w: op.nn.conv1d(x, w, strides=2, padding=1),
                    (normal(2, 3, 8), normal(4, 3, 3)),
                ),
                "conv3d": (
                    lambda x, w: op.nn.conv3d(x, w, padding=(1, 0, 1)),
                    (normal(1, 2, 4, 4, 3), normal(3, 2, 2, 2, 2)),
                ),
            }
        )
    )


def test_transposed_convolutions_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    def conv2d(**options: Any) -> Any:
        return lambda x, w: op.nn.conv2d_transpose(x, w, **options)

    image = normal(2, 4, 3, 4)
    agree(
        both_ways(
            {
                "plain": (conv2d(), (image, normal(4, 3, 3, 2))),
                "strided": (conv2d(strides=(2, 3), padding=1), (image, normal(4, 3, 3, 3))),
                "enlarged": (
                    conv2d(strides=2, padding=1, output_padding=1),
                    (image, normal(4, 3, 3, 3)),
                ),
                "grouped": (conv2d(groups=2, strides=2), (image, normal(4, 3, 2, 2))),
                "conv1d": (
                    lambda x, w: op.nn.conv1d_transpose(x, w, strides=2, output_padding=1),
                    (normal(2, 3, 5), normal(3, 4, 3)),
                ),
                "conv3d": (
                    lambda x, w: op.nn.conv3d_transpose(x, w, strides=2, padding=1),
                    (normal(1, 2, 3, 3, 2), normal(2, 3, 2, 3, 2)),
                ),
            }
        )
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_products_are_summed_in_float64_and_rounded_once(evaluated, dtype: str) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    image, kernel = normal(1, 6, 7, 5).astype(kind), normal(4, 3, 3, 2).astype(kind)
    wide = [torch.from_numpy(array.astype("float64")) for array in (image, kernel)]
    exact = torch.nn.functional.conv2d(*wide, stride=2, padding=1, dilation=(1, 2), groups=2)

    def build(x: Any, w: Any) -> Any:
        return op.nn.conv2d(x, w, strides=2, padding=1, dilation=(1, 2), groups=2)

    at_width = evaluated(build, image, kernel, width=np.float64)
    assert at_width.dtype == np.float64
    assert_allclose(at_width, exact, rtol=1e-12, atol=1e-13)
    assert_array_equal(evaluated(build, image, kernel), at_width.astype(kind))


def test_dilated_and_cropped_transposition_agrees_with_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    image, kernel = normal(2, 4, 3, 4), normal(4, 3, 2, 3)
    options: dict[str, Any] = {"dilation": (2, 1), "output_padding": (1, 0), "padding": (1, 2)}
    expected = torch.nn.functional.conv_transpose2d(
        torch.from_numpy(image), torch.from_numpy(kernel), stride=(2, 1), groups=2, **options
    )
    ours = evaluated(
        lambda x, w: op.nn.conv2d_transpose(x, w, strides=(2, 1), groups=2, **options),
        image,
        kernel,
    )
    assert_allclose(ours, expected, rtol=1e-5, atol=1e-5)


def test_integers_are_exact(both_ways) -> None:  # type: ignore[no-untyped-def]
    image = RNG.integers(-128, 128, (1, 3, 5, 4)).astype("int8")
    kernel = RNG.integers(-128, 128, (2, 3, 3, 2)).astype("int8")
    results = both_ways(
        {"int8": (lambda x, w: op.nn.conv2d(x, w, out_dtype="int32"), (image, kernel))}
    )
    ours, compiled = results["int8"]
    assert ours.dtype == compiled.dtype == np.int32
    assert_array_equal(ours, compiled)


def test_nan_and_infinity_reach_what_sees_them(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    image, kernel = normal(1, 1, 4, 5), np.ones((1, 1, 2, 2), "float32")
    image[0, 0, 0, 0], image[0, 0, 3, 4] = np.nan, np.inf
    expected = torch.nn.functional.conv2d(torch.from_numpy(image), torch.from_numpy(kernel))
    ours = evaluated(lambda x, w: op.nn.conv2d(x, w), image, kernel)
    assert_allclose(ours, expected, rtol=1e-5)
    assert np.isnan(ours).sum() == 1


def test_a_packed_layout_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    options = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o", "out_layout": "NCHW4c"}
    image, kernel = normal(1, 1, 3, 3, 4), normal(1, 1, 1, 1, 4, 4)
    with pytest.raises(NotEvaluable, match=r"relax\.nn\.conv2d: layout NCHW4c"):
        evaluated(lambda x, w: op.nn.conv2d(x, w, **options), image, kernel)


def test_an_image_is_convolved_in_parts(evaluated, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    image, kernel = normal(2, 3, 7, 5), normal(4, 3, 3, 2)

    def build(x: Any, w: Any) -> Any:
        return op.nn.conv2d(x, w, padding=1)

    whole = evaluated(build, image, kernel)
    monkeypatch.setattr("forge.evaluate.convolution._COLUMNS", 2 * 18 * 6)
    # another shape of the matrix, another order of the sums
    assert_allclose(evaluated(build, image, kernel), whole, rtol=1e-6, atol=1e-7)
