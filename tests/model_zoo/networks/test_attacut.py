"""AttaCut's networks take the published state dicts and keep the length."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks import attacut, tools  # noqa: E402


def test_attacut_keeps_the_length() -> None:
    characters = torch.randint(0, 139, (2, 11), generator=torch.Generator().manual_seed(4))
    assert tools.initialise(attacut.Characters(), 5)(characters).shape == (22,)
    both = torch.stack([characters, characters], dim=1)
    model = tools.initialise(attacut.Syllables(), 6)
    assert model(both).shape == (22,)
    assert model.conv2.bn.running_var.shape == (64,)
