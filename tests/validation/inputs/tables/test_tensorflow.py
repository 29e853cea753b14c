from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")

from validation.inputs.tables.tensorflow import table_sizes  # noqa: E402

TABLE = np.arange(80, dtype=np.float32).reshape(20, 4)


class Lookup(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.words = tf.Variable(TABLE)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 3], tf.int32, "ids"),
            tf.TensorSpec([None], tf.float32, "x"),
            tf.TensorSpec([None, 3], tf.int64, "kinds"),
        ]
    )
    def __call__(self, ids: Any, x: Any, kinds: Any) -> Any:
        kind = tf.gather(tf.constant(TABLE[:5]), kinds)
        words = tf.nn.embedding_lookup(self.words, tf.cast(ids, tf.int64))
        return tf.reduce_sum(words + kind) + x


def test_variables_and_constants() -> None:
    assert table_sizes(Lookup(), {}) == {"ids": 20, "kinds": 5}


def test_a_saved_model_calls_functions(tmp_path: Path) -> None:
    tf.saved_model.save(Lookup(), str(tmp_path))
    restored = tf.saved_model.load(str(tmp_path))
    assert table_sizes(restored, {}) == {"ids": 20, "kinds": 5}


def test_a_frozen_graph() -> None:
    with tf.Graph().as_default() as graph:
        ids = tf.compat.v1.placeholder(tf.int32, [2], "ids")
        tf.identity(tf.gather(tf.constant(TABLE), ids), "y")
    assert table_sizes(graph.as_graph_def(), {"outputs": ["y"]}) == {"ids": 20}


def test_other_gathers_are_left_out() -> None:
    @tf.function(input_signature=[tf.TensorSpec([2], tf.int32, "ids")])
    def along_columns(ids: Any) -> Any:
        return tf.gather(tf.constant(TABLE), ids, axis=1)

    @tf.function(input_signature=[tf.TensorSpec([20, 2], tf.int32, "ids")])
    def in_batches(ids: Any) -> Any:
        return tf.gather(tf.constant(TABLE), ids, batch_dims=1)

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, "x")])
    def none(x: Any) -> Any:
        return x

    assert table_sizes(along_columns, {}) == table_sizes(in_batches, {}) == {}
    assert table_sizes(none, {}) == {}
