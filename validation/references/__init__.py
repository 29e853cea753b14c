"""The frameworks that Forge loads, each with its own runtime as the reference."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from forge import InvalidInput
from validation.references.protocol import Framework

_CLASSES = {
    "onnx": ("validation.references.onnx", "ONNXFramework"),
    "torch": ("validation.references.torch", "TorchFramework"),
    "tensorflow": ("validation.references.tensorflow", "TensorFlowFramework"),
    "keras": ("validation.references.keras", "KerasFramework"),
    "tflite": ("validation.references.tflite", "TFLiteFramework"),
}


def frameworks() -> Iterator[Framework]:
    """Yield all of them, whether installed here or not."""
    return map(framework_named, _CLASSES)


def framework_named(name: str) -> Framework:
    """Find a framework by name.

    Raises:
        InvalidInput: There is none of that name.
    """
    if name not in _CLASSES:
        raise InvalidInput(
            f"{name!r} is no framework of Forge's.", hint=f"they are {', '.join(_CLASSES)}"
        )
    module, class_name = _CLASSES[name]
    framework: Framework = getattr(import_module(module), class_name)()
    return framework


def framework_of_model(model: object) -> Framework:
    """Find the framework that a model in memory belongs to.

    Raises:
        InvalidInput: None of them knows it.
    """
    for framework in frameworks():
        if framework.recognises(model):
            return framework
    hint = "give the model itself, as the framework's own object"
    if isinstance(model, (str, Path)):
        hint = f"open it first, or use the command line: forge check {model}"
    raise InvalidInput(
        f"a {type(model).__name__} is no model of a framework that Forge loads.", hint
    )


def framework_of_path(path: Path, name: str | None = None) -> Framework:
    """Find the framework that a model file, or a SavedModel folder, belongs to.

    Args:
        path: The file or folder.
        name: The framework's name, where the user gives it.

    Raises:
        InvalidInput: It does not exist, or its name says nothing.
    """
    if not path.exists():
        raise InvalidInput(f"there is no file {str(path)!r}.")
    if name is not None:
        return framework_named(name)
    if path.is_dir():
        if (path / "saved_model.pb").exists() or (path / "saved_model.pbtxt").exists():
            return framework_named("tensorflow")
        raise InvalidInput(
            f"the folder {str(path)!r} is no SavedModel: it holds no saved_model.pb."
        )
    for framework in frameworks():
        if path.suffix.lower() in framework.suffixes:
            return framework
    suffixes = " ".join(suffix for framework in frameworks() for suffix in framework.suffixes)
    raise InvalidInput(
        f"the name of {str(path)!r} does not say which framework it is of.",
        hint=f"known endings are {suffixes}, or give --framework",
    )
