"""Check a zip archive before a framework unpacks it.

The readers (Python's zipfile, the miniz inside torch) differ where an archive contradicts itself,
so only archives that say everything once are let through: then all of them see the same members.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import zipfile
from pathlib import Path
from typing import Any

from forge import InvalidInput
from validation.untrusted.files import check_file, check_growth

# A file, or an archive that stands inside another.
Source = Path | bytes

_MOST_MEMBERS = 100_000
_LONGEST_NAME = 4096
_LOCAL_HEADER = struct.Struct("<4s5H3I2H")
_ENCRYPTED = 1


def is_archive(path: Path) -> bool:
    """Tell whether a file has the form of a zip archive."""
    try:
        return zipfile.is_zipfile(path)
    except OSError:
        return False


def open_archive(source: Source) -> zipfile.ZipFile:
    """Open an archive for reading."""
    return zipfile.ZipFile(source if isinstance(source, Path) else io.BytesIO(source))


def check_archive(source: Source, where: str | None = None) -> tuple[zipfile.ZipInfo, ...]:
    """Check an archive's structure, names and declared sizes; unpack nothing.

    Args:
        source: A file, or bytes.
        where: What the archive is called in errors; a file's path if left out.

    Returns:
        Its members. Each holds as many bytes as it declares, or reading it fails.

    Raises:
        InvalidInput: It is no archive, a member would leave its folder, members share bytes or
            names, or it would unpack to far more than it stores.
    """
    where = repr(str(source)) if where is None else where
    size = check_file(source).st_size if isinstance(source, Path) else len(source)
    try:
        with open_archive(source) as archive:
            members = archive.infolist()
            stream = archive.fp
            assert stream is not None
            stream.seek(size - 22)
            if archive.comment or stream.read(4) != b"PK\x05\x06":
                raise InvalidInput(
                    f"{where} has data behind its end, where readers of archives disagree.",
                    hint="write the archive again without a comment",
                )
            _check_members(where, members)
            _check_places(where, stream, members, archive.start_dir)
    except InvalidInput:
        raise
    except Exception as error:  # zipfile raises what its parts raise: struct, codecs, int
        raise InvalidInput(
            f"{where} is no whole archive: {type(error).__name__}: {error}",
            hint="check that the file was copied whole",
        ) from error
    check_growth(sum(member.file_size for member in members), size, where)
    return tuple(members)


def read_member(path: Path, name: str, limit: int) -> bytes:
    """Read one member of a checked archive.

    Raises:
        InvalidInput: It is missing, damaged, or larger than ``limit`` bytes.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as member:
            content = member.read(limit + 1)
            # Reading to the end checks the sum.
            if len(content) <= limit and member.read(1):
                raise InvalidInput(f"{name!r} in {str(path)!r} is longer than it declares.")
    except KeyError as error:
        raise InvalidInput(
            f"{str(path)!r} holds no {name!r}.", hint="check that the file was copied whole"
        ) from error
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"{name!r} in {str(path)!r} cannot be read: {type(error).__name__}: {error}",
            hint="check that the file was copied whole",
        ) from error
    if len(content) > limit:
        raise InvalidInput(f"{name!r} in {str(path)!r} has more than {limit} bytes.")
    return content


def _check_members(where: str, members: list[zipfile.ZipInfo]) -> None:
    if len(members) > _MOST_MEMBERS:
        raise InvalidInput(f"{where} has {len(members)} members, above {_MOST_MEMBERS}.")
    seen: set[str] = set()
    for member in members:
        name = member.filename
        fault = _fault_of(member)
        if name in seen:
            fault = "occurs twice"
        if fault:
            raise InvalidInput(
                f"the member {name[:200]!r} of {where} {fault}.",
                hint="unpack the archive where it can do no harm, look at it, and write it again",
            )
        seen.add(name)


def _fault_of(member: zipfile.ZipInfo) -> str:
    name = member.orig_filename
    parts = name.replace("\\", "/").split("/")
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        return "has a name that no file has"
    if os.path.isabs(name) or ".." in parts or "\\" in name or ":" in parts[0]:
        return "would leave its folder"
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device"
    if member.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed by method {member.compress_type}, which no framework writes"
    if member.compress_type == zipfile.ZIP_STORED and member.compress_size != member.file_size:
        return "contradicts itself about its size"
    return ""


def _check_places(where: str, stream: Any, members: list[zipfile.ZipInfo], directory: int) -> None:
    """Check that members follow one another without sharing a byte, under the same names."""
    end = 0
    for member in sorted(members, key=lambda m: m.header_offset):
        if member.header_offset < end or (end == 0 and member.header_offset):
            raise InvalidInput(
                f"the member {member.filename!r} of {where} does not begin where it should: "
                "members overlap, or something stands before them.",
                hint="write the archive again",
            )
        stream.seek(member.header_offset)
        header = stream.read(_LOCAL_HEADER.size)
        signature, _, _, method, *_, name_size, extra_size = _LOCAL_HEADER.unpack(header)
        name = stream.read(name_size)
        encoding = "utf-8" if member.flag_bits & 0x800 else "cp437"
        if (
            signature != b"PK\x03\x04"
            or method != member.compress_type
            or name.decode(encoding, "replace") != member.orig_filename
        ):
            raise InvalidInput(
                f"{where} says two things of its member {member.filename!r}.",
                hint="write the archive again",
            )
        end = member.header_offset + len(header) + name_size + extra_size + member.compress_size
    if end > directory:
        raise InvalidInput(
            f"the last member of {where} reaches into its directory.",
            hint="check that the file was copied whole",
        )
