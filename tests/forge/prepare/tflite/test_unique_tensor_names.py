import struct
from typing import Any

import numpy as np
import pytest

import forge
from forge.prepare.tflite.read_buffer import parse, read_buffer
from forge.prepare.tflite.unique_tensor_names import unique_tensor_names

pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")


@pytest.fixture
def colliding() -> tuple[bytes, np.ndarray]:
    """A model in which every tensor has the name of its input; it computes (x + 1) * -3."""
    function = tf.function(lambda x: tf.nn.relu((x + 1.0) * -3.0))
    concrete = function.get_concrete_function(tf.TensorSpec([4], name="x"))
    buffer = read_buffer(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())
    subgraph = parse(buffer).Subgraphs(0)
    first = subgraph.Tensors(0)._tab
    field = first.Pos + first.Offset(10)
    string = field + struct.unpack_from("<I", buffer, field)[0]
    for index in range(1, subgraph.TensorsLength()):
        table = subgraph.Tensors(index)._tab
        place = table.Pos + table.Offset(10)
        struct.pack_into("<I", buffer, place, (string - place) % 2**32)
    return bytes(buffer), np.array([-3, -1, 0, 2], "float32")


def names(buffer: Any) -> list[bytes]:
    subgraph = parse(buffer).Subgraphs(0)
    return [subgraph.Tensors(i).Name() for i in range(subgraph.TensorsLength())]


def test_names_become_unique_and_values_right(colliding: tuple[bytes, np.ndarray]) -> None:
    model, array = colliding
    if len(set(names(bytearray(model)))) != 1:
        pytest.skip("the string lies behind a tensor, where no unsigned offset reaches it")
    renamed, step = unique_tensor_names(bytearray(model))
    assert step is not None
    assert step.count == len(names(renamed)) - 1
    assert len(set(names(renamed))) == len(names(renamed))
    ir = forge.from_tflite(model)
    (found,) = ir.compile().run({ir.inputs[0].name: array}).values()
    np.testing.assert_allclose(found, np.maximum((array + 1) * -3, 0))
    assert "unique_tensor_names" in [step.name for step in ir.history]


def test_unique_names_are_left_alone() -> None:
    concrete = tf.function(lambda x: x + 1.0).get_concrete_function(tf.TensorSpec([4], name="x"))
    buffer = read_buffer(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())
    same, step = unique_tensor_names(buffer)
    assert same is buffer
    assert step is None
