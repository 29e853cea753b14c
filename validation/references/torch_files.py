"""Open PyTorch's model files without running what a stranger put into them.

A ``.pt`` may be TorchScript, a pickled module, a state_dict or an ExportedProgram; its
content decides, not its name. ``torch.export.load`` unpickles parts of an archive, loads
compiled libraries from it and evaluates its shape expressions, so those are looked at first.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from forge import InvalidInput
from forge.frameworks import require

_TRUST = "if you know where the file comes from, open it with trust (--trust)"
_CODE_IN_SCRIPT = re.compile(r"\b(from_file|torch\.save|ops\.(?!aten|prim|quantized)\w+)")
_SYMBOL = re.compile(r"[A-Za-z_]\w*")
_SYMBOL_CALL = re.compile(
    r"Symbol\('\w+'(, \w+=(True|False))*\)|Float\('[\d.e+-]+', precision=\d+\)"
)
_PLAIN_SYMBOL = re.compile(r"(s|u|f|zuf|zf)\d+")
_SHAPE_FUNCTIONS = re.compile(
    r"FloorDiv|ModularIndexing|Where|PythonMod|Mod|CleanDiv|CeilToInt|FloorToInt|"
    r"CeilDiv|LShift|RShift|PowByNatural|FloatPow|FloatTrueDiv|IntTrueDiv|TruncToFloat|"
    r"TruncToInt|RoundToInt|RoundDecimal|ToFloat|Identity|"
    r"IsNonOverlappingAndDenseIndicator|Max|Min|Eq|Ne|Lt|Le|Gt|Ge|And|Or|Not|Abs|"
    r"Pow|Mul|Add|Piecewise|Integer|Rational|Equality|Unequality|StrictLessThan|LessThan|"
    r"StrictGreaterThan|GreaterThan|True|False|oo|int_oo"
)
_TARGET = re.compile(
    r"torch\.ops(\.\w+){2,3}|_operator\.\w+|operator\.\w+|math\.\w+|torch\._?sym_\w+"
)


def open_torch_file(path: Path, trust: bool) -> Any:
    """Read a ScriptModule, an ExportedProgram or, with ``trust``, a pickled module.

    Raises:
        InvalidInput: Not such a file, or it needs ``trust`` and has it not.
    """
    torch = require("torch", "opening a PyTorch file")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{str(path)!r} is empty.")
    names = _members(path)
    if names is not None and _has(names, "archive_format", "serialized_exported_program.json"):
        return _open_program(torch, path, trust)
    if names is not None and any("/code/" in name for name in names):
        return _open_script(torch, path, trust)
    if names is not None and not _has(names, "data.pkl"):
        raise InvalidInput(
            f"{str(path)!r} is an archive, but none that PyTorch writes.",
            hint="check that the file was copied whole",
        )
    return _open_pickle(torch, path, trust)


def _members(path: Path) -> list[str] | None:
    if not zipfile.is_zipfile(path):
        return None
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def _has(names: list[str], *endings: str) -> bool:
    return any(name.rpartition("/")[2] in endings for name in names)


def _open_script(torch: Any, path: Path, trust: bool) -> Any:
    if not trust:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if "/code/" in name and name.endswith(".py"):
                    found = _CODE_IN_SCRIPT.search(archive.read(name).decode(errors="replace"))
                    if found:
                        raise InvalidInput(
                            f"{str(path)!r} calls {found[1]!r}, which can reach beyond the model.",
                            hint=_TRUST,
                        )
    try:
        return torch.jit.load(str(path), map_location="cpu")
    except Exception as error:
        raise _unreadable(path, "TorchScript", error) from error


def _open_program(torch: Any, path: Path, trust: bool) -> Any:
    if not trust:
        with zipfile.ZipFile(path) as archive:
            problem = next(_code_in_program(torch, archive), None)
        if problem:
            raise InvalidInput(f"{str(path)!r} can run code while it is read: {problem}.", _TRUST)
    try:
        return torch.export.load(io.BytesIO(path.read_bytes()))
    except Exception as error:
        raise _unreadable(path, "an ExportedProgram", error) from error


def _code_in_program(torch: Any, archive: zipfile.ZipFile) -> Iterator[str]:
    """Find what ``torch.export.load`` of torch 2.9 to 2.13 would execute."""
    for name in archive.namelist():
        base = name.rpartition("/")[2]
        if "/aotinductor/" in name:
            yield f"{name} belongs to a compiled library"
        elif base.startswith(("custom_obj", "opaque_obj")):
            yield f"{name} is a pickled object"
        elif base.endswith(".json"):
            yield from _code_in_json(name, archive.read(name))
        elif base.endswith(".pt"):
            # torch.export.load falls back to a full unpickle where this one fails.
            content = archive.read(name)
            try:
                if content:
                    torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
            except Exception as error:
                yield f"{name} is a pickle of more than tensors ({type(error).__name__})"


def _code_in_json(name: str, content: bytes) -> Iterator[str]:
    try:
        document = json.loads(content)
    except ValueError:
        yield f"{name} is no JSON"
        return
    for key, value in _fields(document):
        if key == "use_pickle" and value:
            yield f"{name} has its weights pickled"
        elif key == "expr_str" and isinstance(value, str) and not _is_shape(value):
            yield f"{name} has the shape expression {value!r}"
        elif key == "target" and isinstance(value, str) and not _is_target(value):
            yield f"{name} calls {value!r}"


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key, item
            yield from _fields(item)
    elif isinstance(value, list):
        for item in value:
            yield from _fields(item)


def _is_target(name: str) -> bool:
    """Tell whether a target is an operator; the names of weights are targets as well."""
    is_function = name.startswith(("torch.", "_operator", "operator", "math."))
    return not is_function or bool(_TARGET.fullmatch(name))


def _is_shape(text: str) -> bool:
    """Tell whether an expression holds symbols, numbers and known functions only."""
    text = _SYMBOL_CALL.sub("0", text)
    if re.search(r"[^\w\s+\-*/%(),<>=&|~.]", text) or re.search(r"\.\s*[A-Za-z_]", text):
        return False
    return all(
        _PLAIN_SYMBOL.fullmatch(word) or _SHAPE_FUNCTIONS.fullmatch(word)
        for word in _SYMBOL.findall(text)
    )


def _open_pickle(torch: Any, path: Path, trust: bool) -> Any:
    try:
        found = torch.load(str(path), map_location="cpu", weights_only=True)
    except Exception as error:
        if not trust:
            raise InvalidInput(
                f"{str(path)!r} holds no weights alone: it is a pickled module, whose code would "
                f"run when it is read, or a damaged file ({type(error).__name__}).",
                hint=f"save it with torch.jit.save or torch.export.save; {_TRUST}",
            ) from error
        try:
            found = torch.load(str(path), map_location="cpu", weights_only=False)
        except Exception as second:
            raise _unreadable(path, "a pickled module", second) from second
    if isinstance(found, (torch.nn.Module, torch.export.ExportedProgram)):
        return found
    if isinstance(found, Mapping):
        raise InvalidInput(
            f"{str(path)!r} is a state_dict (or a checkpoint of one): weights without the model.",
            hint="build the model in Python, call model.load_state_dict(...), and check the model, "
            "or save it with torch.jit.save or torch.export.save",
        )
    raise InvalidInput(f"{str(path)!r} holds a {type(found).__name__}, no model.")


def _unreadable(path: Path, kind: str, error: Exception) -> InvalidInput:
    message = " ".join(str(error).split())[:300]
    return InvalidInput(
        f"{str(path)!r} cannot be read as {kind}: {type(error).__name__}: {message}",
        hint="check that the file was copied whole, and that this torch is not older than its own",
    )
