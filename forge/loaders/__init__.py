"""The loaders: one file a framework, each turning a model in memory into ``forge.IRModule``."""

from forge.loaders.keras import from_keras
from forge.loaders.onnx import from_onnx
from forge.loaders.tensorflow import from_tensorflow
from forge.loaders.tflite import from_tflite
from forge.loaders.torch import from_torch

__all__ = ["from_keras", "from_onnx", "from_tensorflow", "from_tflite", "from_torch"]
