"""Other ways to run a PyTorch model than eagerly, as its users run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from forge.frameworks import require
from validation.references.arbiters.protocol import Arbiter
from validation.references.protocol import Arrays, Session
from validation.references.torch import TorchFramework

NO_FLOAT64 = ""


def arbiters(model: Any, options: Mapping[str, Any], threads: int) -> tuple[Arbiter, ...]:
    """List them.

    Neither has kernels of its own throughout. In float64 torch runs other instances of the same
    templates, and convolutions leave oneDNN for torch's own. Without oneDNN convolutions run on
    torch's own kernels as well; products of matrices, pooling and all else do not change.
    """
    return (
        Arbiter(
            "torch in float64",
            partial(_float64, model, options),
            float64=True,
            own_kernels=False,
        ),
        Arbiter(
            "torch without oneDNN, on one thread",
            partial(_plain, model, options),
            own_kernels=False,
        ),
    )


def _float64(model: Any, options: Mapping[str, Any]) -> Session:
    require("torch", "running a PyTorch model in float64")
    from validation.references.arbiters.torch_double import float64_session

    return float64_session(model, [spec.name for spec in TorchFramework().inputs(model, options)])


def _plain(model: Any, options: Mapping[str, Any]) -> Session:
    torch: Any = require("torch", "running a PyTorch model without oneDNN")
    with _one_thread(torch):
        session = TorchFramework().session(model, options, 1)

    def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
        with _one_thread(torch), torch.backends.mkldnn.flags(enabled=False):
            return session(inputs)

    return run


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """The number of threads is the process's: whatever runs next must find its own."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
