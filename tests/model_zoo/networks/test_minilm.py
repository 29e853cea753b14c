"""The sentence encoder reads its mask."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks import minilm, tools  # noqa: E402


def test_the_sentence_encoder_ignores_padding() -> None:
    model = tools.initialise(minilm.SentenceEncoder(layers=1, width=24, inner=32, heads=2), 11)
    ids = torch.tensor([[101, 5, 6, 102, 0, 0]])
    mask = (ids != 0).long()
    padded, bare = model(ids, mask), model(ids[:, :4], mask[:, :4])
    torch.testing.assert_close(padded, bare, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(padded.norm(), torch.tensor(1.0))
