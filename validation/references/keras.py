"""Keras models, run by Keras."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge import InvalidInput, IRModule, TensorSpec, from_keras
from forge.frameworks import is_instance_of, require
from validation.references.protocol import Session
from validation.untrusted import limits

_FILE = "model.keras"
_CLASSES = "classes.json"


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
        from validation.untrusted.keras_files import check_keras_file

        if not trust:
            limits.confine()
        check_keras_file(path, trust)
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
