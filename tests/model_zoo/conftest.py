"""Look up entries, and judge what their models give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import model_zoo
from model_zoo import Entry

Lookup = Callable[[str], Entry]
Judge = Callable[[Iterable[Any]], None]


@pytest.fixture(scope="session")
def zoo() -> Lookup:
    """Give the function that finds an entry of Forge's zoo by id."""
    known = {entry.id: entry for entry in model_zoo.entries()}
    return known.__getitem__


@pytest.fixture(scope="session")
def telling() -> Judge:
    """Give the function that refuses outputs with which nothing could be compared."""

    def judge(outputs: Iterable[Any]) -> None:
        arrays = [np.asarray(output) for output in outputs]
        assert arrays
        for array in arrays:
            assert np.isfinite(array).all()
            assert array.size == 1 or np.ptp(array.astype(np.float64)) > 1e-3

    return judge
