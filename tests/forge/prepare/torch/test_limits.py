"""Clamp of integers, with one bound, and with tensors as bounds."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")


def test_clamp_of_integers(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (x.clamp(min=0), x.clamp(max=2), x.clamp(0, 2), x.clamp(min=0.5)),
        torch.tensor([-1, 2, 5, 2**60 + 1]),
        rtol=0,
    )


def test_clamp_with_tensors(matches_eager: Any) -> None:
    matches_eager(
        lambda x, low: (x.clamp(min=low), torch.clamp(x, low, low + 1)),
        torch.randn(6),
        torch.zeros(6),
    )


def test_hardtanh(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (torch.nn.functional.hardtanh(x, -0.5, 2), torch.nn.functional.relu6(x)),
        torch.randn(9) * 4,
    )
