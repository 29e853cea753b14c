"""Pooling with ceil_mode, divisor_override, padding and dilation, at odd sizes."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
        {"kernel_size": 2, "divisor_override": 3},
        {"kernel_size": (3, 2), "stride": (2, 3), "ceil_mode": True, "divisor_override": 5},
    ],
)
def test_average_equals_eager(matches_eager: Any, options: dict[str, Any]) -> None:
    matches_eager(lambda x: F.avg_pool2d(x, **options), torch.randn(1, 2, 17, 8))


@pytest.mark.parametrize(
    "options",
    [
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "stride": 3, "dilation": 2, "ceil_mode": True},
    ],
)
def test_maximum_equals_eager(matches_eager: Any, options: dict[str, Any]) -> None:
    matches_eager(lambda x: F.max_pool2d(x, **options), torch.randn(1, 2, 17, 8) - 5)


def test_one_and_three_dimensions(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (F.max_pool1d(x, 3, 2, 1), F.avg_pool1d(x, 3, 2, 1, ceil_mode=True)),
        torch.randn(1, 2, 10),
    )
    matches_eager(
        lambda x: (F.max_pool3d(x, 2, ceil_mode=True), F.avg_pool3d(x, 2), F.lp_pool2d(x[0], 3, 2)),
        torch.randn(1, 2, 4, 5, 4),
    )
