"""Norms on values whose mean is large against their spread (TVM issue 19592)."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn


def test_layer_norm_of_large_values(matches_eager: Any) -> None:
    values = torch.tensor([[80000.0, 80001.0, 80002.0, 80003.0]])
    # The differences are exact in float32, so the result must be right to rounding.
    matches_eager(nn.LayerNorm(4), values, rtol=1e-5)


@pytest.mark.parametrize(
    ("module", "shape"),
    [
        (nn.LayerNorm((4, 5)), (2, 4, 5)),
        (nn.LayerNorm(5, elementwise_affine=False), (2, 5)),
        (nn.GroupNorm(2, 4), (2, 4, 5)),
        (nn.GroupNorm(4, 4, affine=False), (2, 4, 3, 3)),
        (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 4)),
        (nn.BatchNorm2d(3, track_running_stats=False), (2, 3, 4, 4)),
    ],
)
def test_norms_equal_eager(matches_eager: Any, module: Any, shape: tuple[int, ...]) -> None:
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    # A mean of 100 loses two digits of the deviation in torch as well.
    matches_eager(module, torch.randn(shape) + 100, rtol=1e-3, atol=1e-3)
