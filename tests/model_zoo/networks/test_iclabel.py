"""ICLabel averages the views of a component."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks import iclabel, tools  # noqa: E402


def test_iclabel_averages_the_four_views_of_each_component() -> None:
    model = tools.initialise(iclabel.ComponentClassifier(), 9)
    random = torch.Generator().manual_seed(10)
    maps, spectra, waves = (
        torch.randn(8, *shape, generator=random)
        for shape in ((1, 32, 32), (1, 1, 100), (1, 1, 100))
    )
    both = model(maps, spectra, waves)
    # The views of component k are k, k + 2, k + 4 and k + 6.
    first = model(maps[::2], spectra[::2], waves[::2])
    torch.testing.assert_close(both[:1], first, rtol=1e-4, atol=1e-6)
