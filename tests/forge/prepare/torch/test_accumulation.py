"""Reductions and products in the width that torch takes them in."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")


def test_half_precision_sums_in_single(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (x.mean(), x.softmax(0).sum(), x.var(), x.cumsum(0)[-1]),
        torch.ones(3000, dtype=torch.float16),
        rtol=1e-3,
    )


def test_cumsum_of_booleans_counts(matches_eager: Any) -> None:
    matches_eager(lambda x: ((x > 0).cumsum(0), x.int().cumsum(0)), torch.randn(7))


@pytest.mark.parametrize("correction", [0, 1, 2])
def test_variance_takes_its_correction(matches_eager: Any, correction: int) -> None:
    matches_eager(
        lambda x: (x.var(1, correction=correction), torch.std(x, correction=correction)),
        torch.randn(3, 5) + 100,
        rtol=1e-4,
    )


def test_products_of_integers_and_doubles_keep_their_width(matches_eager: Any) -> None:
    big = torch.tensor([[2**30 + 1, 3], [5, 2**29 + 1]])
    matches_eager(lambda x: x @ x, big, rtol=0, atol=0)
    matches_eager(lambda x: x @ x, torch.rand(3, 3, dtype=torch.float64), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_layers_keep_their_dtype(matches_eager: Any, dtype: str) -> None:
    kind = getattr(torch, dtype)
    # One rounding of a half is 2 ** -11 of the value.
    tolerance = {"rtol": 2e-3, "atol": 2e-3} if dtype == "float16" else {"rtol": 1e-12}
    conv = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).to(kind)
    matches_eager(conv, torch.rand(1, 3, 6, 6).to(kind), **tolerance)
    matches_eager(torch.nn.Linear(8, 4).to(kind), torch.rand(2, 8).to(kind), **tolerance)
