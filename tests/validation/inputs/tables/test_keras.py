from __future__ import annotations

from typing import Any

import pytest

keras = pytest.importorskip("keras")

from validation.inputs.tables import keras as tables  # noqa: E402


def functional() -> Any:
    words = keras.Input((6,), dtype="int32", name="words")
    kinds = keras.Input((6,), dtype="int32", name="kinds")
    numbers = keras.Input((4,), name="numbers")
    inner = keras.Sequential([keras.Input((6,), dtype="int32"), keras.layers.Embedding(3, 4)])
    found = keras.layers.Embedding(50, 4)(words) + inner(kinds)
    total = keras.layers.GlobalAveragePooling1D()(found) + numbers
    return keras.Model([words, numbers, kinds], total)


def test_each_input_has_its_own_table() -> None:
    assert tables.table_sizes(functional(), {}) == {"words": 50, "kinds": 3}


def test_an_embedding_may_be_indexed_by_floats() -> None:
    model = keras.Sequential([keras.Input((6,), name="ids"), keras.layers.Embedding(7, 4)])
    (found,) = tables.table_sizes(model, {}).values()
    assert found == 7


def test_where_nothing_can_be_traced_the_smallest_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(signature: object) -> dict[str, int]:
        raise RuntimeError("cannot be traced")

    monkeypatch.setattr(tables, "sizes_of", fail)
    assert tables.table_sizes(functional(), {}) == {"words": 3, "kinds": 3}


def test_a_model_that_looks_nothing_up() -> None:
    model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(2)])
    assert tables.table_sizes(model, {}) == {}
