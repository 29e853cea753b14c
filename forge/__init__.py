"""Load a model of any major framework into one intermediate representation on TVM Relax.

>>> import forge
>>> ir = forge.from_onnx(onnx_model)          # doctest: +SKIP
>>> exe = ir.compile(target="llvm")           # doctest: +SKIP
>>> exe.run({"input0": array})                # doctest: +SKIP
"""

from forge._version import __version__
from forge.compile.executable import Executable, load_executable
from forge.errors import (
    CompileError,
    FoldError,
    ForgeError,
    InvalidInput,
    LoadError,
    MissingFramework,
    RunError,
    UnsupportedOperator,
)
from forge.ir import IRModule, load
from forge.loaders import from_keras, from_onnx, from_tensorflow, from_tflite, from_torch
from forge.specs import Step, TensorSpec

__all__ = [
    "CompileError",
    "Executable",
    "FoldError",
    "ForgeError",
    "IRModule",
    "InvalidInput",
    "LoadError",
    "MissingFramework",
    "RunError",
    "Step",
    "TensorSpec",
    "UnsupportedOperator",
    "__version__",
    "from_keras",
    "from_onnx",
    "from_tensorflow",
    "from_tflite",
    "from_torch",
    "load",
    "load_executable",
]
