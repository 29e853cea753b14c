"""Operators that TVM's frontend has no converter for, or one that loses something."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
nn = torch.nn


def test_reductions_without_a_converter(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (
            x.amax(1),
            x.amin(),
            x.max(1),
            x.min(0, keepdim=True),
            x.prod(1),
            (x > 0).any(),
            (x > 0).all(1),
            x.any(0),
        ),
        torch.tensor([[1.0, -2.0, 0.0], [0.5, 3.0, 0.0]]),
    )


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.Conv1d(4, 6, 3, padding="same", groups=2), (2, 4, 7)),
        (nn.Conv3d(2, 3, 2, stride=2, bias=False), (1, 2, 5, 4, 4)),
        (nn.ConvTranspose1d(4, 6, 3, 2, 1, 1), (1, 4, 5)),
        (nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, groups=2, dilation=2), (1, 4, 5, 5)),
        (nn.ConvTranspose3d(2, 3, 2, 2), (1, 2, 3, 3, 3)),
    ],
)
def test_convolutions_equal_eager(matches_eager: Any, layer: Any, shape: tuple[int, ...]) -> None:
    matches_eager(layer, torch.randn(shape), atol=1e-5)


def test_sorting_equals_eager(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (x.sort(1, descending=True), x.topk(2), x.argsort(0), x.median(1)[0]),
        torch.randperm(20).reshape(4, 5).float(),
    )


def test_activations_equal_eager(matches_eager: Any) -> None:
    functional = nn.functional
    matches_eager(
        lambda x: (
            functional.selu(x),
            functional.elu(x, 0.7),
            functional.celu(x, 1.3),
            functional.gelu(x),
            functional.gelu(x, approximate="tanh"),
            functional.softplus(x, 2, 3),
            functional.hardswish(x),
            functional.prelu(x, torch.tensor([0.1])),
            torch.round(x),
        ),
        torch.tensor([-3.0, -0.5, 0.0, 0.5, 1.5, 2.5, 6.0]),
        atol=1e-5,
    )


def test_norms_of_vectors(matches_eager: Any) -> None:
    matches_eager(
        lambda x: (
            x.norm(),
            torch.linalg.vector_norm(x, 3, 1),
            torch.linalg.vector_norm(x, float("inf"), 1),
            torch.linalg.vector_norm(x, 0, 1),
        ),
        torch.tensor([[1.0, -2.0, 0.0], [0.5, 3.0, 0.0]]),
    )
