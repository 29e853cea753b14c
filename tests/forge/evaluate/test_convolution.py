from __future__ import annotations

from typing import Any

import numpy as np
from numpy.testing import assert_allclose
from tvm.relax import op

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
