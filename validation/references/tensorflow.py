"""TensorFlow models, run by TensorFlow."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from forge import InvalidInput, IRModule, TensorSpec, from_tensorflow
from forge.frameworks import is_instance_of, require
from validation.references.protocol import Arrays, Session
from validation.untrusted import limits

_KIND = "kind.json"
_GRAPH = "graph.pb"
_SAVED = "saved_model"


def limit_threads(threads: int) -> None:
    """Ask TensorFlow for a number of threads; it listens only before its first operation."""
    tf: Any = require("tensorflow", "running a TensorFlow model")
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)


def session_of(signature: Any) -> Session:
    """Make a session that calls the user's own object, as its ``Signature`` says how."""
    tf: Any = require("tensorflow", "running a TensorFlow model")

    def run(arrays: Mapping[str, np.ndarray]) -> Arrays:
        result = signature.call([tf.constant(arrays[spec.name]) for spec in signature.inputs])
        return {name: np.asarray(value) for name, value in signature.name_outputs(result)}

    return run


class TensorFlowFramework:
    """TensorFlow 2: functions, modules, SavedModels, and frozen graphs of TensorFlow 1."""

    name = "tensorflow"
    packages = ("tensorflow", "tensorflow-cpu", "tf2onnx")
    suffixes = (".pb",)

    def recognises(self, model: object) -> bool:
        if is_instance_of(model, "keras", "Model", "Layer"):
            return False
        names = ("GraphDef", "ConcreteFunction", "Function", "Trackable", "RestoredFunction")
        return is_instance_of(model, "tensorflow", *names)

    def opens_folder(self, path: Path) -> bool:
        """Tell whether a folder is a SavedModel."""
        return any((path / name).is_file() for name in ("saved_model.pb", "saved_model.pbtxt"))

    def open(self, path: Path, *, trust: bool) -> Any:
        """Open a SavedModel folder or a frozen GraphDef.

        Without ``trust`` the graph is read first and refused if it reaches outside itself.
        """
        if not trust:
            limits.confine()
        if path.is_dir():
            return _open_saved_model(path, trust)
        if path.name == "saved_model.pb":
            raise InvalidInput(
                f"{path} is part of a SavedModel.", hint=f"give the folder: {path.parent}"
            )
        return _open_graph(path, trust)

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        if is_instance_of(model, "tensorflow", "GraphDef"):
            (folder / _GRAPH).write_bytes(model.SerializeToString())
            _write_kind(folder, "graph")
            return
        tf: Any = require("tensorflow", "storing a TensorFlow model")
        kind = "module"
        signatures = None
        if _is_function(model):
            kind = "function"
            holder = tf.Module()
            holder.function = model
            # A SavedModel holds only variables that something in it owns.
            holder.variables_of_function = list(_traced(model, options).variables)
            model = holder
        elif hasattr(getattr(model, "signatures", None), "items"):
            signatures = dict(model.signatures.items())
        try:
            tf.saved_model.save(model, str(folder / _SAVED), signatures=signatures)
        except Exception as error:
            raise InvalidInput(
                f"the TensorFlow model cannot be saved for another process: "
                f"{type(error).__name__}: {str(error)[:600]}",
                hint="save it as a SavedModel yourself and give the folder",
            ) from error
        _write_kind(folder, kind)

    def restore(self, folder: Path) -> Any:
        kind = json.loads((folder / _KIND).read_text())["kind"]
        tf: Any = require("tensorflow", "restoring a TensorFlow model")
        if kind == "graph":
            graph = tf.compat.v1.GraphDef()
            graph.ParseFromString((folder / _GRAPH).read_bytes())
            return graph
        model = tf.saved_model.load(str(folder / _SAVED))
        if kind == "module":
            return model
        # The module owns the variables: it must live as long as its function.
        function = model.function
        function.forge_module = model
        return function

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        return _signature(model, options).inputs  # type: ignore[no-any-return]

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        limit_threads(threads)
        return session_of(_signature(model, options))

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        return from_tensorflow(model, **options)


def _signature(model: Any, options: Mapping[str, Any]) -> Any:
    require("tensorflow", "running a TensorFlow model")
    from forge.prepare.tensorflow.entry_points import signature_of

    return signature_of(
        model, options.get("shape_dict"), options.get("outputs"), options.get("signature")
    )


def _is_function(model: Any) -> bool:
    return hasattr(model, "get_concrete_function") or is_instance_of(
        model, "tensorflow", "ConcreteFunction"
    )


def _traced(function: Any, options: Mapping[str, Any]) -> Any:
    if is_instance_of(function, "tensorflow", "ConcreteFunction"):
        return function
    if getattr(function, "input_signature", None) is not None:
        return function.get_concrete_function()
    traces = getattr(function, "concrete_functions", None)
    if traces:
        return traces[0]
    shapes = options.get("shape_dict")
    if not shapes:
        raise InvalidInput(
            "a tf.function without input_signature cannot be handed to another process.",
            hint="give shape_dict, or function.get_concrete_function(tf.TensorSpec(…))",
        )
    tf: Any = require("tensorflow", "storing a TensorFlow model")
    return function.get_concrete_function(
        **{name: tf.TensorSpec(shape, tf.float32, name) for name, shape in shapes.items()}
    )


def _write_kind(folder: Path, kind: str) -> None:
    (folder / _KIND).write_text(json.dumps({"kind": kind}))


def _open_graph(path: Path, trust: bool) -> Any:
    require("tensorflow", "opening a TensorFlow graph")
    from validation.untrusted.tensorflow_graphs import read_graph

    return read_graph(path, trust)


def _open_saved_model(path: Path, trust: bool) -> Any:
    tf: Any = require("tensorflow", "opening a SavedModel")
    from validation.untrusted.tensorflow_graphs import check_saved_model

    check_saved_model(path, trust)
    try:
        return tf.saved_model.load(str(path))
    except Exception as error:
        raise InvalidInput(
            f"TensorFlow cannot load the SavedModel {path}: {type(error).__name__}: "
            f"{str(error)[:600]}",
            hint="a SavedModel of TensorFlow 1 or an old Keras opens in a tf.compat.v1 session; "
            "freeze its graph there and give the GraphDef with outputs",
        ) from error
