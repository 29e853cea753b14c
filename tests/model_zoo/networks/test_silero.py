"""Silero's voice detector carries its state."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks import silero, tools  # noqa: E402


def test_silero_reads_the_state() -> None:
    model = tools.initialise(silero.VoiceDetector(), 7)
    sound = torch.randn(2, 576, generator=torch.Generator().manual_seed(8))
    quiet, loud = torch.zeros(2, 2, 128), torch.ones(2, 2, 128)
    probability, after = model(sound, quiet)
    assert probability.shape == (2, 1)
    assert after.shape == (2, 2, 128)
    assert not torch.allclose(after, model(sound, loud)[1])
