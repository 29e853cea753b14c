from __future__ import annotations

from typing import Any

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
from validation.references.arbiters.graph_batch_norm import write_out_batch_norms  # noqa: E402


def graph_of(training: bool = False, layout: str = "NHWC", epsilon: float = 1e-3) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [2, 3, 3, 3], "x")
        values = [tf.constant([1.0, 2.0, 3.0], name=name) for name in "sbmv"]
        given = values[:2] if training else values
        norm = tf.compat.v1.nn.fused_batch_norm(
            x, *given, epsilon=epsilon, data_format=layout, is_training=training
        )[0]
        tf.identity(norm, "y")
    return graph.as_graph_def()


def operators(graph: Any) -> set[str]:
    return {node.op for node in graph.node}


def test_it_is_written_out_under_its_own_name() -> None:
    graph = graph_of()
    write_out_batch_norms(graph)
    assert not any("FusedBatchNorm" in operator for operator in operators(graph))
    names = {node.name: node.op for node in graph.node}
    assert names["FusedBatchNormV3"] == "AddV2"


def test_the_epsilon_is_the_float32_that_the_model_holds() -> None:
    graph = graph_of(epsilon=0.1)
    write_out_batch_norms(graph)
    (epsilon,) = [node for node in graph.node if node.name.endswith("/epsilon")]
    value = tf.make_ndarray(epsilon.attr["value"].tensor)
    assert value.dtype == np.float64
    assert float(value) == float(np.float32(0.1)) != 0.1


@pytest.mark.parametrize(("training", "layout"), [(True, "NHWC"), (False, "NCHW")])
def test_training_and_other_layouts_stay(training: bool, layout: str) -> None:
    graph = graph_of(training, layout)
    write_out_batch_norms(graph)
    assert "FusedBatchNormV3" in operators(graph)
