"""Find what ``torch.export.load`` of torch 2.9 to 2.13 would run of a stranger's archive.

It unpickles parts, loads compiled libraries, evaluates shape expressions with ``sympify``, and
looks up what the nodes call by name.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forge import InvalidInput
from validation.untrusted.archives import check_archive, read_member
from validation.untrusted.pickles import holds_weights_alone

# The archive as a whole is held against its size on disk.
_LARGEST_PART = 1 << 40
_PICKLED = ("custom_obj", "opaque_obj")
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
# Sympy computes what it reads: 9**9**9 would not end.
_LONGEST_SHAPE = 2000
_POWER = re.compile(r"\*\*\s*\(?\s*\d{3,}|\*\*[^*]*\*\*|\d{30,}")
# operator.call and the like would run what another node gave.
_ARITHMETIC = (
    "add|sub|mul|floordiv|truediv|mod|pow|neg|pos|abs|eq|ne|lt|le|gt|ge|and_|or_|not_|xor|"
    "lshift|rshift|getitem|invert|index"
)
_TARGET = re.compile(
    r"torch\.ops\.(aten|prims|quantized|quantized_decomposed|higher_order|torchvision)(\.\w+){1,2}|"
    rf"_?operator\.({_ARITHMETIC})|math\.\w+|torch\._?sym_\w+"
)
_FILES = re.compile(r"torch\.ops\.\w+\.(from_file|save|load_tensor|read_file|write_\w+)\b")


def code_in_program(torch: Any, path: Path, names: Sequence[str]) -> Iterator[str]:
    """Say what would run, one thing at a time.

    Args:
        torch: The module.
        path: An archive that ``check_archive`` has let through.
        names: Its members.
    """
    for name in names:
        parts = name.split("/")
        if "aotinductor" in parts:
            yield f"{name} belongs to a compiled library"
        elif any(part.startswith(_PICKLED) for part in parts):
            yield f"{name} is a pickled object"
        elif name.endswith(".json"):
            yield from _code_in_json(name, read_member(path, name, _LARGEST_PART))
        elif name.endswith((".pt", ".pkl")):
            yield from _code_in_pickle(torch, name, read_member(path, name, _LARGEST_PART))


def _code_in_pickle(torch: Any, name: str, content: bytes) -> Iterator[str]:
    """Look at an archive of pickled tensors inside the archive."""
    if not content:
        return
    try:
        check_archive(content, name)
        weights_alone = holds_weights_alone(content)
        if weights_alone:
            # torch.export.load falls back to a full unpickle where this one fails.
            torch.load(io.BytesIO(content), weights_only=True, map_location="cpu")
    except Exception as error:
        yield f"{name} is no archive of tensors ({type(error).__name__})"
        return
    if not weights_alone:
        yield f"{name} is a pickle of more than tensors"


def _code_in_json(name: str, content: bytes) -> Iterator[str]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidInput(
            f"the program's {name} is no JSON.", hint="check that the file was copied whole"
        ) from None
    for key, value in _fields(document):
        text = value if isinstance(value, str) else None
        if key == "use_pickle" and value:
            yield f"{name} has its weights pickled"
        elif key == "path_name" and text and text.startswith(_PICKLED):
            yield f"{name} names the pickled object {text!r}"
        elif key == "expr_str" and text is not None and not is_shape(text):
            yield f"{name} has the shape expression {text[:200]!r}"
        elif key in ("target", "as_operator") and text is not None and not is_target(text):
            yield f"{name} calls {text[:200]!r}"


def _fields(document: Any) -> Iterator[tuple[str, Any]]:
    pending = [document]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            yield from value.items()
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def is_target(name: str) -> bool:
    """Tell whether a target computes and no more; other texts are targets that name nothing.

    torch goes by the first letters, so that ``torch_x.os.system`` is ``torch.os.system`` to it.
    """
    if not name.startswith(("torch", "_operator", "operator", "math", "#")) or "." not in name:
        return True
    return bool(_TARGET.fullmatch(name)) and not _FILES.match(name)


def is_shape(text: str) -> bool:
    """Tell whether an expression holds symbols, numbers and known functions only."""
    if len(text) > _LONGEST_SHAPE or _POWER.search(text):
        return False
    text = _SYMBOL_CALL.sub("0", text)
    if re.search(r"[^\w\s+\-*/%(),<>=&|~.]", text) or re.search(r"\.\s*[A-Za-z_]", text):
        return False
    return all(
        _PLAIN_SYMBOL.fullmatch(word) or _SHAPE_FUNCTIONS.fullmatch(word)
        for word in _SYMBOL.findall(text)
    )
