"""Built TensorFlow models run in TensorFlow and come out the same twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

import model_zoo
from model_zoo import Entry, Sample

tf = pytest.importorskip("tensorflow")

ENTRIES = [
    entry for entry in model_zoo.entries() if entry.framework == "tensorflow" and not entry.source
]


def run(sample: Sample) -> list[Any]:
    model, options = sample.model, sample.options
    if isinstance(model, tf.compat.v1.GraphDef):
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(model, name="")
        fed = {f"{name}:0": values for name, values in sample.inputs.items()}
        with tf.compat.v1.Session(graph=graph) as session:
            return list(session.run(options["outputs"], fed))
    tensors = {name: tf.constant(values) for name, values in sample.inputs.items()}
    if "signature" in options:
        result = model.signatures[options["signature"]](**tensors)
    else:
        result = model(*tensors.values())
    return [leaf.numpy() for leaf in tf.nest.flatten(result)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_it_runs_and_is_deterministic(
    entry: Entry, telling: Callable[[Iterable[Any]], None]
) -> None:
    first, second = run(entry.build()), run(entry.build())
    telling(first)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_frozen_graph_has_no_variables(zoo: Callable[[str], Entry]) -> None:
    graph = zoo("tensorflow/conv/frozen-graph").build().model
    operators = {node.op for node in graph.node}
    assert not {name for name in operators if "Variable" in name}
    assert any(name.startswith("FusedBatchNorm") for name in operators)
