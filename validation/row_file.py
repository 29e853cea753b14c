"""Keep rows on disk as they come: nothing that has finished is lost, and a killed run goes on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

from forge import ForgeError, InvalidInput
from forge.files import sync_folder
from validation.result import CheckResult, from_json


class RowFileError(ForgeError):
    """A row could not be written; those before it are on disk."""


class RowFile:
    """A JSON-lines file of rows that one run at a time writes.

    Each row is one line, written at once and flushed to the disk before the next thing happens, so
    that a kill tears the last line at most. Of several rows with one id and target the last counts.

    Use it as a context manager.

    Args:
        path: The file; its folder must exist.
        resume: Keep what lies there, and give it as ``rows``; else the file is emptied.

    Raises:
        InvalidInput: Another run writes to it, it is no regular file, or, to be resumed, it holds
            something else.
        OSError: It cannot be opened.
    """

    def __init__(self, path: Path, resume: bool = False) -> None:
        self.path = path
        self.rows: dict[tuple[str, str], CheckResult] = {}
        self.torn = ""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
        self._handle = os.open(path, flags, 0o666)
        try:
            if not stat.S_ISREG(os.fstat(self._handle).st_mode):
                raise InvalidInput(f"{path} is no regular file: rows cannot be kept in it.")
            sync_folder(path.parent)
            self._lock()
            if resume:
                self._read()
            else:
                os.ftruncate(self._handle, 0)
        except BaseException:
            os.close(self._handle)
            raise

    def __enter__(self) -> RowFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def append(self, *rows: CheckResult) -> None:
        """Write rows; they are on disk when this returns.

        Raises:
            RowFileError: They cannot be written, as on a full disk; nothing of them is left then.
        """
        before = os.fstat(self._handle).st_size
        data = "".join(f"{row.to_json()}\n" for row in rows).encode()
        try:
            written = os.write(self._handle, data)
            if written < len(data):
                # The rest gives the error that the short write hides.
                os.write(self._handle, data[written:])
            os.fsync(self._handle)
        except OSError as error:
            # Half a row must not look like one. Should this fail too, the line lacks its end.
            with contextlib.suppress(OSError):
                os.ftruncate(self._handle, before)
            raise self._unwritten(rows, error) from error
        for row in rows:
            self.rows[row.id, row.target] = row

    def _unwritten(self, rows: Iterable[CheckResult], error: OSError) -> RowFileError:
        kept = [row.id for row in finished(self.rows.values())]
        return RowFileError(
            f"{self.path}: {error.strerror}: not written: {_some(row.id for row in rows)}. "
            f"On disk and whole: {len(kept)} finished rows of {len(self.rows)} planned"
            f"{f' ({_some(kept)})' if kept else ''}.",
            hint="make room, and run the same command again with --resume",
        )

    def _lock(self) -> None:
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InvalidInput(
                f"another run is writing to {self.path}.",
                hint="wait for it, or give another --report",
            ) from error

    def _read(self) -> None:
        data = self.path.read_bytes()
        whole, _, rest = data.rpartition(b"\n")
        lines = whole.decode("utf-8", errors="replace").split("\n") if whole else []
        for number, line in enumerate(filter(str.strip, lines), start=1):
            try:
                self._take(line)
            except ValueError as error:
                raise InvalidInput(
                    f"{self.path}, line {number}: {error}",
                    hint="only a file that 'forge matrix' wrote can be resumed",
                ) from error
        if rest:
            self._mend(rest, len(data))

    def _mend(self, rest: bytes, size: int) -> None:
        """Take a last line that lacks its end, or drop it where the row is torn."""
        try:
            self._take(rest.decode())
        except ValueError:
            self.torn = rest.decode(errors="replace")
            os.ftruncate(self._handle, size - len(rest))
        else:
            os.write(self._handle, b"\n")

    def _take(self, line: str) -> None:
        row = from_json(line)
        self.rows[row.id, row.target] = row


def _some(names: Iterable[str], most: int = 20) -> str:
    listed = list(names)
    more = f" and {len(listed) - most} more" if len(listed) > most else ""
    return ", ".join(listed[:most]) + more


def finished(rows: Iterable[CheckResult]) -> list[CheckResult]:
    """Leave out rows that only stand for a cell that was planned."""
    return [row for row in rows if not row.is_unfinished]
