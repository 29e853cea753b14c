"""Look through a Keras model's configuration before Keras builds what it says.

A configuration names classes and functions, and Keras imports them. Its own ``safe_mode`` has been
got round again and again, an ``.h5`` file ignores it, and a class may run code that lies elsewhere.
So only what belongs to Keras itself, and of that only what computes, is let through.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from forge import InvalidInput
from forge.frameworks import require

_LARGEST = 256 << 20
# Values that are written as objects.
_VALUES = frozenset(
    {
        "__keras_tensor__",
        "__tensor__",
        "__numpy__",
        "__bytes__",
        "__ellipsis__",
        "__slice__",
        "__tuple__",
        "TensorShape",
    }
)
# Layers whose configuration is code, or names a file that holds some.
_CODE = frozenset(
    {
        "Lambda",
        "__lambda__",
        "TFSMLayer",
        "TorchModuleWrapper",
        "JaxLayer",
        "FlaxLayer",
        "NNXLayer",
        "ModuleWrapper",
        "TensorFlowOpLayer",
        "TFOpLambda",
        "SlicingOpLambda",
    }
)
_FUNCTIONS = ("activations", "constraints", "initializers", "losses", "metrics", "regularizers")
_NO_FUNCTIONS = frozenset({"deserialize", "serialize", "get"})
_PUBLIC = (
    "layers",
    "models",
    "dtype_policies",
    "mixed_precision",
    "optimizers",
    "optimizers.schedules",
    "quantizers",
    "random",
    *_FUNCTIONS,
)
_INNER = re.compile(
    r"keras\.src\.(layers|models|ops|initializers|regularizers|constraints|activations|losses|"
    r"metrics|optimizers|dtype_policies|quantizers|random)(\.\w+)*"
)
# Layers read these files while they are built.
_FILES = ("vocabulary", "idf_weights", "filepath", "call_endpoint")


def parse_config(text: object, where: str) -> Any:
    """Read a configuration's JSON.

    Raises:
        InvalidInput: It is none, or too large or too deep for one.
    """
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    if not isinstance(text, str) or len(text) > _LARGEST:
        raise InvalidInput(f"{where} holds no configuration of a Keras model that could be read.")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the configuration in {where} is no JSON: {type(error).__name__}: {error}",
            hint="is the file whole?",
        ) from error
    if not isinstance(config, dict) or not isinstance(config.get("config"), (dict, list)):
        raise InvalidInput(
            f"the configuration in {where} describes no model: it has no class_name and config.",
            hint="save the model with model.save(path)",
        )
    return config


def check_config(config: Any, where: str) -> None:
    """Refuse a configuration that is not made of Keras' own layers and functions alone.

    Raises:
        InvalidInput: Names everything else in it.
    """
    keras: Any = require("keras", "opening a Keras model")
    found = sorted(set(_foreign(keras, config)))
    if found:
        more = f" and {len(found) - 20} more" if len(found) > 20 else ""
        raise InvalidInput(
            f"{where} holds code of its own, or names what is not for Keras to load: "
            f"{', '.join(found[:20])}{more}.",
            hint="open it with trust only if you know who made it (--trust); "
            "or build the model in Python and give it in memory",
        )


def _foreign(keras: Any, config: Any) -> Iterator[str]:
    pending = [config]
    while pending:
        part = pending.pop()
        if isinstance(part, list):
            pending += part
        elif isinstance(part, Mapping):
            pending += part.values()
            if "class_name" in part and (fault := _fault_of(keras, part)):
                yield fault
            for name in _FILES:
                if isinstance(part.get(name), str) and part[name]:
                    yield f"the file {part[name]!r} as {name}"


def _fault_of(keras: Any, part: Mapping[str, Any]) -> str:
    """Name what an object is, unless it is Keras' own."""
    name, module = part["class_name"], part.get("module")
    registered = part.get("registered_name")
    if not isinstance(name, str) or not isinstance(module, (str, type(None))):
        return f"{name!r:.80}"
    if name in _CODE:
        return name
    if name in _VALUES:
        return ""
    if name == "function":
        function = part.get("config")
        known = isinstance(function, str) and _is_function(keras, module, function)
        return "" if known else f"{module}.{function}"[:120]
    full = f"{module}.{name}" if module else name
    if registered not in (None, name):
        return f"{full} ({registered})"[:120]
    return "" if _is_class(keras, module, name) else full[:120]


def _is_function(keras: Any, module: str | None, name: str) -> bool:
    if name in _NO_FUNCTIONS or not name.isidentifier() or name.startswith("_"):
        return False
    if module in ("builtins", None):
        places = [getattr(keras, place) for place in _FUNCTIONS]
    elif module in ("keras.ops", *(f"keras.{place}" for place in _FUNCTIONS)):
        places = [getattr(keras, module.partition(".")[2])]
    elif _INNER.fullmatch(module):
        places = [sys.modules.get(module)]
    else:
        return False
    found = [getattr(place, name, None) for place in places]
    return any(callable(each) and _module_of(each).startswith("keras.src.") for each in found)


def _is_class(keras: Any, module: str | None, name: str) -> bool:
    if not name.isidentifier() or not name[0].isupper():
        return False
    places: list[Any]
    if module in (None, "keras"):
        places = [keras, *(_attribute(keras, place) for place in _PUBLIC)]
    elif module in {f"keras.{place}" for place in _PUBLIC}:
        places = [_attribute(keras, module.partition(".")[2])]
    elif _INNER.fullmatch(module):
        places = [sys.modules.get(module)]
    else:
        return False
    found = [getattr(place, name, None) for place in places]
    return any(
        isinstance(each, type) and _module_of(each).startswith("keras.src.") for each in found
    )


def _attribute(keras: Any, path: str) -> Any:
    place = keras
    for part in path.split("."):
        place = getattr(place, part, None)
    return place


def _module_of(value: Any) -> str:
    return str(getattr(value, "__module__", ""))
