import struct
from pathlib import Path
from typing import Any

import pytest

from forge import InvalidInput
from forge.prepare.tflite.read_buffer import parse, read_buffer

tflite = pytest.importorskip("tflite")
tf = pytest.importorskip("tensorflow")


@pytest.fixture(scope="module")
def model() -> bytes:
    concrete = tf.function(lambda x: x * 2.0 + 1.0).get_concrete_function(tf.TensorSpec([4]))
    return bytes(tf.lite.TFLiteConverter.from_concrete_functions([concrete]).convert())


def test_bytes_are_copied(model: bytes) -> None:
    source = bytearray(model)
    found = read_buffer(source)
    assert found == source
    found[0] ^= 1
    assert source == model
    assert read_buffer(memoryview(model)) == model


def test_an_opened_model_gives_its_own_bytes(model: bytes) -> None:
    assert read_buffer(tflite.Model.GetRootAs(model, 0)) == model
    held = b"\0" * 16 + model
    assert read_buffer(tflite.Model.GetRootAs(held, 16)) == model


def test_an_object_model_is_packed(model: bytes) -> None:
    schema = pytest.importorskip("tensorflow.lite.python.schema_py_generated")
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
    packed = parse(read_buffer(tree)).Subgraphs(0)
    original = parse(bytearray(model)).Subgraphs(0)
    assert packed.OperatorsLength() == original.OperatorsLength() > 0
    assert [packed.Tensors(i).Name() for i in range(packed.TensorsLength())] == [
        original.Tensors(i).Name() for i in range(original.TensorsLength())
    ]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (b"", "0 bytes"),
        (b"\x08\x00\x00\x00ONNX" + b"\0" * 32, "expected b'TFL3'"),
        ("model.tflite", "the path 'model.tflite'"),
        (Path("model.tflite"), "the path"),
        (3, "type builtins.int"),
    ],
)
def test_what_is_no_model_is_refused(given: Any, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        read_buffer(given)


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_truncated_model_is_refused(part: float, model: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_buffer(model[: int(len(model) * part)])


def test_an_index_that_leads_nowhere_is_refused(model: bytes) -> None:
    damaged = bytearray(model)
    operator = parse(damaged).Subgraphs(0).Operators(0)._tab
    inputs = operator.Vector(operator.Offset(6))
    struct.pack_into("<i", damaged, inputs, 99)
    with pytest.raises(InvalidInput, match="a tensor that it does not have"):
        read_buffer(damaged)
