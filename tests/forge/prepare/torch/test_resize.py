"""Resizing at ratios that are no integers, by scale and by size, and antialiased."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
F = torch.nn.functional


@pytest.mark.parametrize(
    "options",
    [
        {"scale_factor": 2, "mode": "nearest"},
        {"scale_factor": 1.7, "mode": "nearest"},
        {"size": (7, 3), "mode": "nearest"},
        {"size": (7, 3), "mode": "nearest-exact"},
        {"scale_factor": 2, "mode": "bilinear"},
        {"scale_factor": 2.5, "mode": "bilinear"},
        {"scale_factor": 1.7, "mode": "bilinear"},
        {"size": (7, 3), "mode": "bilinear", "align_corners": True},
        {"scale_factor": 1.7, "mode": "bicubic"},
        {"size": (9, 3), "mode": "bilinear", "antialias": True},
        {"scale_factor": 0.4, "mode": "bilinear", "antialias": True},
    ],
)
def test_interpolation_equals_eager(matches_eager: Any, options: dict[str, Any]) -> None:
    matches_eager(lambda x: F.interpolate(x, **options), torch.randn(1, 2, 5, 8), atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_grid_sample_equals_eager(matches_eager: Any, mode: str) -> None:
    grid = torch.rand(1, 3, 5, 2) * 2 - 1
    matches_eager(
        lambda x, g: F.grid_sample(x, g, mode=mode, align_corners=False),
        torch.randn(1, 2, 4, 6),
        grid,
        atol=1e-5,
    )
