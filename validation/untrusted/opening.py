"""What a child of the command line does: open a model file, load it, and describe or compile it.

Whatever a stranger's file does to a parser in native code, it does to this process. The answer goes
back as JSON, which the parent can read without trusting the child.
"""

from __future__ import annotations

import json
import pickle
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from validation.untrusted.limits import enter_scratch

REQUEST, ANSWER, LIBRARY = "request.pickle", "answer.json", "library.so"


@dataclass(frozen=True)
class Request:
    """What to do with a file.

    Attributes:
        path: The file, absolute.
        framework: Its framework's name.
        trust: Code inside it may run.
        options: Keyword arguments of the framework's loader.
        script: Print the module as TVMScript.
        target: Compile for it; None describes the module instead.
        opt: How to compile.
    """

    path: Path
    framework: str
    trust: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    script: bool = False
    target: str | None = None
    opt: str = "default"


def work(folder: Path) -> None:
    """Do what the request in a folder asks for. The answer appears whole or not at all."""
    enter_scratch(folder / "scratch", writable=[folder])
    try:
        with open(folder / REQUEST, "rb") as stream:
            request = pickle.load(stream)  # noqa: S301 - our own parent wrote it
        answer = {"result": _answer(request, folder)}
    except Exception as error:
        answer = {"error": _in_words(error)}
    temporary = folder / f"{ANSWER}.part"
    temporary.write_text(json.dumps(answer), encoding="utf-8")
    temporary.rename(folder / ANSWER)


def _answer(request: Request, folder: Path) -> dict[str, Any]:
    from validation.references import framework_named

    framework = framework_named(request.framework)
    model = framework.open(request.path, trust=request.trust)
    ir = framework.load(model, request.options)
    if request.target is not None:
        ir.compile(request.target, request.opt).export_library(folder / LIBRARY)
        return {}
    record: dict[str, Any] = {
        "inputs": [asdict(spec) for spec in ir.inputs],
        "outputs": [asdict(spec) for spec in ir.outputs],
        "operators": dict(ir.operators.most_common()),
        "history": [asdict(step) for step in ir.history],
    }
    if request.script:
        record["script"] = ir.script()
    return record


def _in_words(error: Exception) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "message": getattr(error, "message", None) or str(error),
        "hint": getattr(error, "hint", None),
        "operators": list(getattr(error, "operators", ())),
        "errno": getattr(error, "errno", None),
        "trace": "".join(traceback.format_exception(error)),
    }
