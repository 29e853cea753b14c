"""Indexing: what TVM's converters read out of bounds or pair wrongly."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
X = torch.arange(60.0).reshape(3, 4, 5)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[:, -1],
        lambda x: x[:, [-1, 0]],
        lambda x: x[:, [-1, 0], [1, -2]],
        lambda x: x[[0, -1], :, [1, -2]],
        lambda x: x[torch.tensor([[0, -1], [2, 1]])],
        lambda x: x[..., -3:-1] + x[..., 1:-2],
        lambda x: x[:, 1:100:2],
        lambda x: x[:, [[0], [-1]], [[2, 1]]],
        lambda x: x.flip(-1, -2),
        lambda x: x.roll(2, 1),
        lambda x: x.unfold(1, 2, 1),
        lambda x: torch.take(x, torch.tensor([0, -1, 59])),
    ],
)
def test_reading_equals_eager(matches_eager: Any, function: Any) -> None:
    matches_eager(function, X)


def _set_slices(x: Any) -> Any:
    y = x.clone()
    y[:, -3:-1] = 7
    y[0] = 0
    y[:, :, 2] += 1
    y[y > 40] = -1
    return y


@pytest.mark.parametrize(
    "function",
    [
        _set_slices,
        lambda x: x.index_put((torch.tensor([0, -1]), torch.tensor([1, -1])), torch.ones(2, 5)),
        lambda x: x.index_put((torch.tensor([0, 0]),), torch.ones(4, 5), accumulate=True),
        lambda x: torch.ops.aten.index_put(
            x, [None, torch.tensor([1, -1])], torch.arange(30.0).reshape(3, 2, 5)
        ),
        lambda x: torch.ops.aten.index_put(
            x, [torch.tensor([0, -1]), None, torch.tensor([1, 4])], torch.arange(8.0).reshape(2, 4)
        ),
    ],
)
def test_writing_equals_eager(matches_eager: Any, function: Any) -> None:
    matches_eager(function, X)


def test_scatter_takes_a_source_larger_than_its_index(matches_eager: Any) -> None:
    index = torch.tensor([[1, 0, 2], [2, 2, 0]])
    matches_eager(
        lambda x, i, v: (x.scatter(1, i, v), x.scatter_add(1, i, v), x.scatter(0, i, 2.0)),
        torch.zeros(3, 4),
        index,
        torch.rand(3, 4),
    )


def test_a_diagonal_write_with_two_outputs(matches_eager: Any) -> None:
    """TVM issues 18363 and 18359: a crash."""

    def write(x: Any) -> Any:
        places = torch.arange(5)
        target = torch.zeros(2, 3, 5, 5)
        target[:, :, places, places] = x
        return target, x

    matches_eager(write, torch.rand(2, 3, 5))
