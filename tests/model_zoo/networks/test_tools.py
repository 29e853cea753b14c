"""State dicts without code, weights without side effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from model_zoo.networks import tools  # noqa: E402


def test_a_restored_state_dict_runs_no_pickled_code(tmp_path: Path) -> None:
    class Payload:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "ran",))

    torch.save({"weight": Payload()}, tmp_path / "state.pt")
    with pytest.raises(Exception, match=r"[Ww]eights.only"):
        tools.restored(torch.nn.Linear(1, 1), tmp_path / "state.pt")
    assert not (tmp_path / "ran").exists()


def test_initialising_leaves_torch_s_random_state_alone() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 64))
    state = torch.get_rng_state()
    tools.initialise(model, 12)
    assert torch.get_rng_state().equal(state)
    np.testing.assert_allclose(model[0].weight.std().item(), np.sqrt(2 / 64), rtol=0.1)
