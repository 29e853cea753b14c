"""Open PyTorch's model files without running what a stranger put into them.

A ``.pt`` may be TorchScript, a pickled module, a state_dict or an ExportedProgram; its
content decides, not its name. Without trust nothing is unpickled, and what torch would run of the
other two is looked for first: see ``validation.untrusted``.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation.untrusted.archives import check_archive, is_archive, read_member
from validation.untrusted.exported_programs import code_in_program
from validation.untrusted.files import check_file
from validation.untrusted.pickles import holds_weights_alone
from validation.untrusted.torchscript import code_that_reaches_out

_TRUST = "if you know where the file comes from, open it with trust (--trust)"
_LARGEST_CODE = 256 << 20


def open_torch_file(path: Path, trust: bool) -> Any:
    """Read a ScriptModule, an ExportedProgram or, with ``trust``, a pickled module.

    Raises:
        InvalidInput: Not such a file, or it needs ``trust`` and has it not.
    """
    check_file(path)
    torch = require("torch", "opening a PyTorch file")
    if not is_archive(path):
        return _open_pickle(torch, path, trust)
    names = [member.filename for member in check_archive(path)]
    if _has(names, "archive_format", "serialized_exported_program.json"):
        return _open_program(torch, path, names, trust)
    if any("/code/" in name for name in names):
        return _open_script(torch, path, names, trust)
    if not _has(names, "data.pkl"):
        raise InvalidInput(
            f"{str(path)!r} is an archive, but none that PyTorch writes.",
            hint="check that the file was copied whole",
        )
    return _open_pickle(torch, path, trust)


def _has(names: list[str], *endings: str) -> bool:
    return any(name.rpartition("/")[2] in endings for name in names)


def _open_script(torch: Any, path: Path, names: list[str], trust: bool) -> Any:
    if not trust:
        found = [
            fault
            for name in names
            if name.endswith(".py")
            for fault in code_that_reaches_out(
                read_member(path, name, _LARGEST_CODE).decode(errors="replace")
            )
        ]
        if found:
            calls = ", ".join(map(repr, sorted(set(found))))
            raise InvalidInput(
                f"{str(path)!r} calls {calls}, which can reach beyond the model.", hint=_TRUST
            )
        if _has(names, "model.json"):
            raise InvalidInput(
                f"{str(path)!r} is TorchScript of before PyTorch 1.0.",
                hint="load and save it again with a newer torch",
            )
    try:
        return torch.jit.load(str(path), map_location="cpu")
    except Exception as error:
        raise _unreadable(path, "TorchScript", error) from error


def _open_program(torch: Any, path: Path, names: list[str], trust: bool) -> Any:
    if not trust:
        problem = next(code_in_program(torch, path, names), None)
        if problem:
            raise InvalidInput(f"{str(path)!r} can run code while it is read: {problem}.", _TRUST)
    try:
        return torch.export.load(io.BytesIO(path.read_bytes()))
    except Exception as error:
        raise _unreadable(path, "an ExportedProgram", error) from error


def _open_pickle(torch: Any, path: Path, trust: bool) -> Any:
    if not trust:
        if holds_weights_alone(path):
            raise _weights(path)
        raise InvalidInput(
            f"{str(path)!r} holds no weights alone: it is a pickled module, whose code would "
            "run when it is read, or a damaged file.",
            hint=f"save it with torch.jit.save or torch.export.save; {_TRUST}",
        )
    try:
        found = torch.load(str(path), map_location="cpu", weights_only=False)
    except Exception as error:
        raise _unreadable(path, "a pickled module", error) from error
    if isinstance(found, (torch.nn.Module, torch.export.ExportedProgram)):
        return found
    if isinstance(found, Mapping):
        raise _weights(path)
    raise InvalidInput(f"{str(path)!r} holds a {type(found).__name__}, no model.")


def _weights(path: Path) -> InvalidInput:
    return InvalidInput(
        f"{str(path)!r} is a state_dict (or a checkpoint of one): weights without the model.",
        hint="build the model in Python, call model.load_state_dict(...), and check the model, "
        "or save it with torch.jit.save or torch.export.save",
    )


def _unreadable(path: Path, kind: str, error: Exception) -> InvalidInput:
    message = " ".join(str(error).split())[:300]
    return InvalidInput(
        f"{str(path)!r} cannot be read as {kind}: {type(error).__name__}: {message}",
        hint="check that the file was copied whole, and that this torch is not older than its own",
    )
