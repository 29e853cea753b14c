"""Keras models, run by Keras."""

from __future__ import annotations

import importlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forge import InvalidInput, IRModule, TensorSpec, from_keras
from forge.frameworks import is_instance_of, require
from validation.references.protocol import Session

_FILE = "model.keras"
_CLASSES = "classes.json"
# Layers whose configuration is code, or names a file that holds some.
_CODE = ("Lambda", "__lambda__", "TFSMLayer", "TorchModuleWrapper", "JaxLayer", "FlaxLayer")


class KerasFramework:
    """Keras 3 on the TensorFlow backend."""

    name = "keras"
    packages = ("keras", "tensorflow", "tensorflow-cpu")
    suffixes = (".keras", ".h5", ".hdf5")

    def recognises(self, model: object) -> bool:
        return is_instance_of(model, "keras", "Model")

    def open(self, path: Path, *, trust: bool) -> Any:
        """Load a model file without its optimiser.

        Without ``trust`` the configuration is read before Keras sees the file, because an .h5
        file runs the bytecode of its Lambda layers while it is loaded, ``safe_mode`` or not.
        """
        config = _config_of(path)
        if not trust and (unsafe := sorted(set(_unsafe(config)))):
            raise InvalidInput(
                f"{path} holds code of its own: {', '.join(unsafe)}.",
                hint="open it with trust only if you know who made it; "
                "or build the model in Python and give it in memory",
            )
        keras: Any = require("keras", "opening a Keras model")
        try:
            return keras.models.load_model(path, compile=False, safe_mode=not trust)
        except Exception as error:
            raise InvalidInput(
                f"Keras cannot load {path}: {type(error).__name__}: {str(error)[:600]}",
                hint="a model with classes of your own can be given in memory only",
            ) from error

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        try:
            model.save(folder / _FILE)
        except Exception as error:
            raise InvalidInput(
                f"the Keras model {model.name!r} cannot be saved for another process: "
                f"{type(error).__name__}: {error}",
                hint="give classes of your own a get_config that returns what __init__ takes",
            ) from error
        (folder / _CLASSES).write_text(json.dumps(_own_classes(model)))

    def restore(self, folder: Path) -> Any:
        keras: Any = require("keras", "restoring a Keras model")
        try:
            classes = {
                name: getattr(importlib.import_module(module), name)
                for module, name in json.loads((folder / _CLASSES).read_text())
            }
            return keras.models.load_model(
                folder / _FILE, custom_objects=classes, compile=False, safe_mode=False
            )
        except Exception as error:
            raise InvalidInput(
                f"the Keras model cannot be built again in another process: "
                f"{type(error).__name__}: {str(error)[:600]}",
                hint="put its classes into a module that can be imported, and register them with "
                "keras.saving.register_keras_serializable",
            ) from error

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        return _signature(model, options).inputs  # type: ignore[no-any-return]

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        from validation.references.tensorflow import limit_threads, session_of

        limit_threads(threads)
        return session_of(_signature(model, options))

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        return from_keras(model, **options)


def _signature(model: Any, options: Mapping[str, Any]) -> Any:
    from forge.loaders.keras import keras_signature

    return keras_signature(model, options.get("shape_dict"))


def _own_classes(model: Any) -> list[tuple[str, str]]:
    """Say where the model's classes that are not Keras' own can be imported from."""
    classes = {type(layer) for layer in model._flatten_layers()}
    return sorted(
        (cls.__module__, cls.__name__)
        for cls in classes
        if cls.__module__.partition(".")[0] != "keras"
    )


def _config_of(path: Path) -> Any:
    """Read a file's configuration, which says what Keras will build, without Keras."""
    if not path.is_file():
        raise InvalidInput(f"{path} is no file.")
    if path.suffix.lower() == ".keras":
        try:
            with zipfile.ZipFile(path) as archive:
                return json.loads(archive.read("config.json"))
        except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
            raise InvalidInput(
                f"{path} is no Keras archive: {type(error).__name__}: {error}",
                hint="a .keras file is a zip archive with a config.json; is it whole?",
            ) from error
    h5py: Any = require("h5py", "opening a Keras .h5 model")
    try:
        with h5py.File(path, "r") as file:
            text = file.attrs.get("model_config")
    except OSError as error:
        raise InvalidInput(f"{path} is no HDF5 file: {error}", hint="is the file whole?") from error
    if text is None:
        raise InvalidInput(
            f"{path} holds weights without a model.",
            hint="build the model, model.load_weights(path), and give the model in memory",
        )
    return json.loads(text)


def _unsafe(config: Any) -> Iterator[str]:
    """Name what in a configuration is code, or a class that is not Keras' own."""
    if isinstance(config, list):
        for part in config:
            yield from _unsafe(part)
    if not isinstance(config, Mapping):
        return
    name = config.get("class_name")
    if isinstance(name, str):
        module = config.get("module")
        custom = isinstance(module, str) and module.partition(".")[0] not in ("keras", "builtins")
        custom |= module is None and isinstance(config.get("registered_name"), str)
        function = module == "builtins" and name == "function"
        if name in _CODE:
            yield name
        elif custom or function:
            named = config.get("config") if function else f"{module}.{name}"
            yield str(named).removeprefix("None.")
    for part in config.values():
        yield from _unsafe(part)
