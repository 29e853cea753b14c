"""Turn whatever holds a TFLite model into one checked flatbuffer."""

from __future__ import annotations

import os
import struct
from typing import Any

from forge.errors import InvalidInput
from forge.frameworks import require

IDENTIFIER = b"TFL3"
_TAKES = (
    "from_tflite takes the model's bytes, or a Model / ModelT object of the tflite, "
    "tensorflow or ai_edge_litert schema"
)


def read_buffer(model: object) -> bytearray:
    """Copy a model into a flatbuffer of our own and check that all of it can be read.

    Args:
        model: bytes, bytearray or memoryview; a ``Model`` of the PyPI package tflite, of
            ``tensorflow.lite.python.schema_py_generated`` or of ``ai_edge_litert``, or a ``ModelT``
            of the latter two.

    Raises:
        InvalidInput: Another type, or bytes that are no whole TFLite model.
    """
    buffer = bytearray(_bytes_of(model))
    if len(buffer) < 8:
        raise InvalidInput(
            f"the TFLite model has {len(buffer)} bytes, which is no TFLite file.", hint=_TAKES
        )
    if bytes(buffer[4:8]) != IDENTIFIER:
        raise InvalidInput(
            f"the bytes are no TFLite model: expected {IDENTIFIER!r} at offset 4, "
            f"found {bytes(buffer[4:8])!r}.",
            hint="give the content of a .tflite file, or what tf.lite.TFLiteConverter returned",
        )
    try:
        _walk(parse(buffer), len(buffer))
    except InvalidInput:
        raise
    except (struct.error, IndexError, ValueError, TypeError, OverflowError, MemoryError) as error:
        raise InvalidInput(
            f"the TFLite model cannot be read to its end ({type(error).__name__}: {error}); "
            f"the file is truncated or damaged.",
            hint="compare its size and checksum with the original",
        ) from error
    return buffer


def parse(buffer: bytearray) -> Any:
    """Open a flatbuffer as the ``tflite.Model`` that TVM's frontend takes."""
    return require("tflite", "forge.from_tflite").Model.GetRootAs(buffer, 0)


def _bytes_of(model: object) -> bytes | bytearray | memoryview:
    if isinstance(model, bytes | bytearray):
        return model
    if isinstance(model, memoryview):
        return model.tobytes()
    if isinstance(model, str | os.PathLike):
        raise InvalidInput(
            f"from_tflite was given the path {str(model)!r}, not a model.",
            hint="read it: forge.from_tflite(pathlib.Path(path).read_bytes())",
        )
    if type(model).__name__ == "ModelT" and hasattr(model, "Pack"):
        flatbuffers = require("flatbuffers", "forge.from_tflite")
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=IDENTIFIER)
        return bytes(builder.Output())
    table: Any = getattr(model, "_tab", None)
    if type(model).__name__ == "Model" and hasattr(table, "Bytes"):
        data = bytes(table.Bytes)
        start = 0
        if len(data) >= 4 and struct.unpack_from("<I", data)[0] != table.Pos:
            start = _start_of(data, table.Pos)
        return data[start:]
    raise InvalidInput(
        f"from_tflite was given an object of type {type(model).__module__}."
        f"{type(model).__qualname__}.",
        hint=_TAKES,
    )


def _start_of(data: bytes, root: int) -> int:
    """Find where a model begins that its owner opened at an offset into larger data."""
    start = data.find(IDENTIFIER) - 4
    while start >= 0:
        if struct.unpack_from("<I", data, start)[0] + start == root:
            return start
        start = data.find(IDENTIFIER, start + 5) - 4
    raise InvalidInput("the tflite Model object does not begin at the start of its own data.")


def _walk(model: Any, size: int) -> None:
    """Touch every table that the importer will read; flatbuffers itself checks nothing."""
    if not 1 <= model.SubgraphsLength() <= size:
        raise InvalidInput(f"the TFLite model has {model.SubgraphsLength()} subgraphs.")
    for index in range(_length(model.OperatorCodesLength(), size)):
        model.OperatorCodes(index).BuiltinCode()
    buffers = _length(model.BuffersLength(), size)
    for index in range(buffers):
        buffer = model.Buffers(index)
        if buffer.DataLength():
            buffer.DataAsNumpy()
        if buffer.Offset() > 1:
            raise InvalidInput(
                "the TFLite model keeps its weights outside the flatbuffer (a file above 2 GiB).",
                hint="Forge reads models whose weights are inside the flatbuffer",
            )
    for number in range(model.SubgraphsLength()):
        subgraph = model.Subgraphs(number)
        tensors = _length(subgraph.TensorsLength(), size)
        for index in range(tensors):
            tensor = subgraph.Tensors(index)
            tensor.ShapeAsNumpy()
            (tensor.Name() or b"").decode("utf-8")
            if tensor.Buffer() >= buffers:
                raise InvalidInput(f"tensor {index} of the TFLite model names a missing buffer.")
        indices = [*_ints(subgraph.InputsAsNumpy()), *_ints(subgraph.OutputsAsNumpy())]
        for index in range(_length(subgraph.OperatorsLength(), size)):
            operator = subgraph.Operators(index)
            if operator.OpcodeIndex() >= model.OperatorCodesLength():
                raise InvalidInput(f"operator {index} of the TFLite model has no operator code.")
            operator.BuiltinOptions()
            indices += _ints(operator.InputsAsNumpy())
            indices += _ints(operator.OutputsAsNumpy())
        if any(not -1 <= index < tensors for index in indices):
            raise InvalidInput("the TFLite model uses a tensor that it does not have.")


def _length(found: int, size: int) -> int:
    # A damaged length field can ask for billions of elements.
    if found > size:
        raise ValueError(f"a list of {found} elements in a file of {size} bytes")
    return found


def _ints(vector: Any) -> list[int]:
    return [] if isinstance(vector, int) else [int(value) for value in vector]
