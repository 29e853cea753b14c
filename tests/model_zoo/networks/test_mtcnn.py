"""MTCNN's networks take the published state dicts and compute what the originals do."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks import mtcnn, tools  # noqa: E402


def shapes(module: Any) -> dict[str, tuple[int, ...]]:
    return {name: tuple(values.shape) for name, values in module.state_dict().items()}


def test_mtcnn_has_the_published_shapes() -> None:
    found = shapes(mtcnn.OutputNet())
    assert found["conv4.weight"] == (128, 64, 2, 2)
    assert found["prelu5.weight"] == (256,)
    assert found["dense6_3.weight"] == (10, 256)
    assert len(found) == 21
    assert len(shapes(mtcnn.RefineNet())) == 16
    assert len(shapes(mtcnn.ProposalNet())) == 13


def test_mtcnn_pools_round_up() -> None:
    model = tools.initialise(mtcnn.ProposalNet(), 1)
    boxes, faces = model(torch.zeros(1, 3, 41, 55))
    # 41 - 2 = 39, halved and rounded up 20, less twice 2: 16.
    assert tuple(boxes.shape) == (1, 4, 16, 23)
    torch.testing.assert_close(faces.sum(dim=1), torch.ones(1, 16, 23))


def test_mtcnn_flattens_width_before_height() -> None:
    model = tools.initialise(mtcnn.RefineNet(), 2)
    kept: list[Any] = []
    model.dense4.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0]))
    images = torch.randn(1, 3, 24, 24, generator=torch.Generator().manual_seed(3))
    model(images)
    features = model.features(images)
    # Element 64 is the first channel one row down in the first column.
    assert kept[0][0, 64] == features[0, 0, 1, 0]
