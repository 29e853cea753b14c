"""TFLite models, run by TensorFlow's own interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forge import InvalidInput, IRModule, MissingFramework, TensorSpec, from_tflite
from forge.frameworks import is_instance_of
from validation.references.protocol import Arrays, Session
from validation.untrusted import limits

_FILE = "model.tflite"


class TFLiteFramework:
    """TFLite: the interpreter of ai_edge_litert where it is installed, else TensorFlow's."""

    name = "tflite"
    packages = ("tflite", "ai-edge-litert", "tensorflow", "tensorflow-cpu")
    suffixes = (".tflite",)

    def recognises(self, model: object) -> bool:
        if isinstance(model, bytes | bytearray | memoryview):
            return bytes(model[4:8]) == b"TFL3"
        return any(
            is_instance_of(model, root, "Model", "ModelT") and not _is_keras(model)
            for root in ("tflite", "tensorflow", "ai_edge_litert")
        )

    def open(self, path: Path, *, trust: bool) -> Any:
        """Read a .tflite file; it holds no code, so ``trust`` changes nothing."""
        from forge.prepare.tflite.read_buffer import read_buffer
        from validation.untrusted.files import read_file
        from validation.untrusted.flatbuffers import check_flatbuffer
        from validation.untrusted.tflite_models import check_control_flow

        limits.confine()
        data = read_file(path)
        check_flatbuffer(data, str(path))
        try:
            read_buffer(data)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error.message}", error.hint) from error
        check_control_flow(data, str(path))
        return data

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        (folder / _FILE).write_bytes(_own_bytes(model))

    def restore(self, folder: Path) -> Any:
        return (folder / _FILE).read_bytes()

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        shapes = options.get("shape_dict") or {}
        specs, _ = _borders(model)
        return tuple(
            replace(spec, shape=tuple(shapes[spec.name])) if spec.name in shapes else spec
            for spec in specs
        )

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        specs = self.inputs(model, options)
        _, names = _borders(model)
        interpreter = _interpreter(model, threads)
        details = interpreter.get_input_details()
        current: list[tuple[int, ...]] = [tuple(detail["shape"]) for detail in details]

        def resize(wanted: list[tuple[int, ...]]) -> None:
            for position, detail in enumerate(details):
                if current[position] != wanted[position]:
                    interpreter.resize_tensor_input(detail["index"], wanted[position])
                    current[position] = wanted[position]
            interpreter.allocate_tensors()

        interpreter.allocate_tensors()

        def run(arrays: Mapping[str, np.ndarray]) -> Arrays:
            values = [np.asarray(arrays[spec.name]) for spec in specs]
            shapes = [value.shape for value in values]
            if shapes != current:
                resize(shapes)
            for detail, value in zip(details, values, strict=True):
                interpreter.set_tensor(detail["index"], value)
            interpreter.invoke()
            outputs = interpreter.get_output_details()
            return {
                name: np.array(interpreter.get_tensor(detail["index"]))
                for name, detail in zip(names, outputs, strict=True)
            }

        return run

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        return from_tflite(model, **options)


def _is_keras(model: object) -> bool:
    return hasattr(model, "call") and hasattr(model, "get_config")


def _borders(model: Any) -> tuple[tuple[TensorSpec, ...], tuple[str, ...]]:
    from forge.loaders.tflite import borders
    from forge.prepare.tflite.read_buffer import parse, read_buffer

    return borders(parse(read_buffer(model)))


def _own_bytes(model: Any) -> bytes:
    """Give the user's own bytes, which no code of the loader has touched.

    A schema object has none, or hides them: the loader's reader writes them out.
    """
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    from forge.prepare.tflite.read_buffer import read_buffer

    return bytes(read_buffer(model))


def _interpreter(model: Any, threads: int) -> Any:
    content = _own_bytes(model)
    try:
        return _litert(content, threads)
    except ImportError:
        try:
            from tensorflow import lite
        except ImportError as error:
            raise MissingFramework(
                "running a TFLite model natively needs an interpreter, and none is installed.",
                hint="pip install ai-edge-litert",
            ) from error
        return lite.Interpreter(model_content=content, num_threads=threads)


def _litert(content: bytes, threads: int) -> Any:
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_content=content, num_threads=threads)
