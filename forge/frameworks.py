"""The one place where Forge imports a framework: a missing one is always one clear error."""

from __future__ import annotations

import importlib
from types import ModuleType

from forge.errors import MissingFramework

# import name -> (distribution on the package index, extra of this distribution)
_DISTRIBUTIONS = {
    "onnx": ("onnx", "onnx"),
    "torch": ("torch", "torch"),
    "onnxscript": ("onnxscript", "torch"),
    "tensorflow": ("tensorflow-cpu", "tensorflow"),
    "keras": ("keras", "keras"),
    "tf2onnx": ("tf2onnx", "tensorflow"),
    "tflite": ("tflite", "tflite"),
    "tvm": ("apache-tvm", ""),
    "cloudpickle": ("cloudpickle", "validation"),
    "jinja2": ("jinja2", "validation"),
    "psutil": ("psutil", "validation"),
    "rich": ("rich", "validation"),
}


def require(name: str, purpose: str) -> ModuleType:
    """Import a framework's module.

    Args:
        name: The module to import, for example ``"torch"`` or ``"onnx.inliner"``.
        purpose: What needs it, for the error message, for example ``"forge.from_torch"``.

    Raises:
        MissingFramework: It is not installed, or is installed and cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        distribution, extra = _DISTRIBUTIONS.get(root, (root, ""))
        if isinstance(error, ModuleNotFoundError) and error.name == root:
            state = "is not installed"
        else:
            state = f"is installed but cannot be imported ({error})"
        hint = f"pip install {distribution}"
        if extra:
            hint += f", or pip install 'forge-validation[{extra}]'"
        raise MissingFramework(
            f"{purpose} needs the Python package {root!r}, which {state}.", hint=hint
        ) from error


def is_instance_of(value: object, root: str, *class_names: str) -> bool:
    """Tell whether ``value`` is of a class of a framework, without importing that framework.

    Args:
        value: Any object.
        root: The framework's top-level module, for example ``"torch"``.
        class_names: Names of classes, any of which may stand anywhere in the object's MRO.
    """
    return any(
        cls.__module__.partition(".")[0] == root and cls.__name__ in class_names
        for cls in type(value).__mro__
    )
