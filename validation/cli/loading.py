"""Open and load the model file of a command line, in a process of its own.

A parser that crashes on the file, or a model that fills the memory, ends the child and is one
message of the command. See ``validation.untrusted`` for what the child may do.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.untrusted.opening import Request

MEMORY_LIMIT = 8 << 30
_POLL_SECONDS = 0.1
_LARGEST_ANSWER = 1 << 30
_STDERR_BYTES = 2000


class UnexpectedError(Exception):
    """An error of the child that is none of Forge's own: a fault of Forge."""


def describe_file(arguments: argparse.Namespace, script: bool) -> dict[str, Any]:
    """Load the file that ``add_model_arguments`` describes, and say what became of it.

    Returns:
        ``inputs``, ``outputs``, ``operators``, ``history``, and ``script`` if asked for.

    Raises:
        ForgeError: It cannot be opened or loaded, or did not survive that.
    """
    with _folder() as folder:
        return _run(folder, replace(_request(arguments), script=script), arguments.debug)


def compile_file(arguments: argparse.Namespace, output: Path) -> None:
    """Load that file, compile it for ``arguments.target``, and write a library.

    Raises:
        ForgeError: It cannot be opened, loaded or compiled, or did not survive that.
        OSError: The library cannot be written.
    """
    import shutil

    from validation.untrusted.opening import LIBRARY

    request = replace(_request(arguments), target=arguments.target, opt=arguments.opt)
    with _folder() as folder:
        _run(folder, request, arguments.debug)
        # Not moved: the child's file is its owner's alone.
        shutil.copyfile(folder / LIBRARY, output)


def _request(arguments: argparse.Namespace) -> Request:
    from validation.cli.model_arguments import loader_options
    from validation.references import framework_of_path
    from validation.untrusted.opening import Request

    framework = framework_of_path(arguments.model, arguments.framework).name
    return Request(
        path=arguments.model.absolute(),
        framework=framework,
        trust=arguments.trust,
        options=loader_options(arguments, framework),
    )


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="forge-load-", ignore_cleanup_errors=True) as name:
        yield Path(name).resolve()


def _run(folder: Path, request: Request, debug: bool) -> dict[str, Any]:
    from forge import LoadError
    from validation.untrusted.opening import ANSWER, REQUEST

    (folder / REQUEST).write_bytes(pickle.dumps(request))
    with open(folder / "stderr", "wb") as stderr:
        code, too_large = _watch(folder, stderr)
    answer_file = folder / ANSWER
    if code == 0 and answer_file.exists() and answer_file.stat().st_size <= _LARGEST_ANSWER:
        answer = json.loads(answer_file.read_text(encoding="utf-8"))
        if "error" in answer:
            raise _error_of(answer["error"], debug)
        return dict(answer["result"])
    if too_large:
        raise LoadError(
            f"loading {str(request.path)!r} took more than {MEMORY_LIMIT >> 20} MiB of memory, and "
            "was ended."
        )
    how = f"with exit code {code}"
    if code < 0:
        how = f"of {signal.Signals(-code).name}"
    raise LoadError(
        f"loading {str(request.path)!r} ended the process {how}{_tail(folder / 'stderr')}",
        hint="the file is damaged, or its framework's own reader is at fault: try to read it "
        "with the framework alone",
    )


def _watch(folder: Path, stderr: Any) -> tuple[int, bool]:
    """Run the child and wait for it; it does not outlive this."""
    from validation.isolation.family import ProcessFamily

    # Our own folder first: a user's folder may hold packages that are named as ours are.
    path = [str(Path(__file__).resolve().parents[2])]
    path += [os.path.abspath(each) if os.path.exists(each or ".") else each for each in sys.path]
    code = (
        f"import sys; sys.path[:] = {path!r}; from pathlib import Path; "
        f"from validation.untrusted.opening import work; work(Path({str(folder)!r}))"
    )
    environment = {"TF_CPP_MIN_LOG_LEVEL": "2", **os.environ}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.DEVNULL,
        stdout=stderr,
        stderr=stderr,
        env=environment,
        start_new_session=True,
    )
    family = ProcessFamily(process.pid)
    too_large = False
    try:
        while True:
            try:
                return process.wait(_POLL_SECONDS), too_large
            except subprocess.TimeoutExpired:
                if family.resident() > MEMORY_LIMIT:
                    too_large = True
                    process.kill()
    finally:
        family.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _error_of(record: dict[str, Any], debug: bool) -> Exception:
    """Make the child's error ours."""
    import forge

    kind = getattr(forge, record["type"], None)
    if isinstance(kind, type) and issubclass(kind, forge.ForgeError):
        if issubclass(kind, forge.UnsupportedOperator):
            return kind(record["message"], record["operators"], record["hint"])
        return kind(record["message"], record["hint"])
    if record["errno"] is not None:
        return OSError(record["errno"], record["message"])
    trace = f"\n{record['trace']}" if debug else ""
    return UnexpectedError(f"{record['type']}: {record['message']}{trace}")


def _tail(path: Path) -> str:
    with open(path, "rb") as stream:
        stream.seek(0, 2)
        stream.seek(max(0, stream.tell() - _STDERR_BYTES))
        text = stream.read().decode(errors="replace").strip()
    return f"; its last words:\n{text}" if text else "."
