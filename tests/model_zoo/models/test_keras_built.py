"""Built Keras models run in Keras and come out the same twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import model_zoo
from model_zoo import Entry

pytest.importorskip("tensorflow")
pytest.importorskip("keras")

ENTRIES = [
    entry for entry in model_zoo.entries() if entry.framework == "keras" and not entry.source
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_it_runs_and_is_deterministic(
    entry: Entry, telling: Callable[[Iterable[Any]], None]
) -> None:
    first, second = entry.build(), entry.build()
    assert [tensor.name for tensor in first.model.inputs] == list(first.inputs)

    def run(model: Any) -> list[Any]:
        values = list(first.inputs.values())
        result = model(values if len(values) > 1 else values[0], training=False)
        return [np.asarray(leaf) for leaf in (result if isinstance(result, list) else [result])]

    outputs = run(first.model)
    telling(outputs)
    for one, other in zip(outputs, run(second.model), strict=True):
        np.testing.assert_array_equal(one, other)


def test_mobilenet_has_random_batch_norm_statistics(zoo: Callable[[str], Entry]) -> None:
    model = zoo("keras/mobilenet/v2").build().model
    statistics = [weight for weight in model.weights if "moving_" in weight.path]
    assert len(statistics) == 104
    assert min(float(np.std(weight)) for weight in statistics) > 0.05
