"""Type promotion: numbers beside integers, alpha, divisions, booleans, scalar tensors."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
INTS = torch.tensor([1, -2, 3, -7, 5])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0.5,
        lambda x: (x / 2, x // 3, x % 3, x + 1, -x, x**2),
        lambda x: (x > 1.5, x == 3.0, x <= 2.7),
        lambda x: (torch.exp(x), torch.sigmoid(x), torch.sin(x)),
        lambda x: torch.div(x, 2, rounding_mode="trunc"),
        lambda x: (x + 9007199254740993, x * 3037000499),
        lambda x: torch.where(x > 0, x, 0.5),
        lambda x: ((x > 0) + (x < 3), (x > 0) * (x < 3), (x > 0) == (x < 3), (x > 0) < (x < 3)),
        lambda x: ((x > 0) & (x < 3), (x > 0) ^ (x < 3), ~(x > 0)),
    ],
)
def test_integers_equal_eager(matches_eager: Any, function: Any) -> None:
    matches_eager(function, INTS)


def test_alpha_is_applied(matches_eager: Any) -> None:
    matches_eager(
        lambda x, y: (torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5)),
        torch.rand(3),
        torch.rand(3),
    )


def test_a_scalar_tensor_does_not_widen(matches_eager: Any) -> None:
    matches_eager(lambda x, y: x * y, torch.rand(3), torch.tensor(0.1, dtype=torch.float64))


def test_half_precision_scalars_are_not_rounded_first(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (x * 1e-8, x / 70000), torch.tensor([60000.0, 1.0], dtype=torch.float16)
    )


@pytest.mark.parametrize("mode", ["floor", "trunc", None])
def test_division_of_floats_is_rounded_as_torch_does(matches_eager: Any, mode: str) -> None:
    x = torch.tensor([7.0, -7.0, 1.0, 0.3, -0.3, 5.5, -0.0])
    y = torch.tensor([0.1, 2.0, 0.0, 0.1, 0.1, -2.0, 3.0])
    matches_eager(lambda a, b: torch.div(a, b, rounding_mode=mode), x, y)


def test_fmod_keeps_the_sign_of_the_dividend(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (torch.fmod(x, 3), torch.remainder(x, 3), torch.frac(x)),
        torch.tensor([-7.5, 7.5, 2.0]),
    )
