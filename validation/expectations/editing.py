"""Edit the text of an expectation file, so that comments, order and layout stay."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from forge import InvalidInput
from forge.frameworks import require
from validation.expectations.reading import SCHEMA, records_of

# Stage and reason, in the vocabulary's words.
Ends = tuple[str, str]
_HEADER = re.compile(r"\s*\[\[\s*failure\s*\]\]\s*(#.*)?$")


def rewritten(
    file: Path,
    text: str,
    records: Sequence[dict[str, Any]],
    removed: Sequence[int],
    ends: Mapping[int, Ends],
    new: Sequence[dict[str, str]],
) -> str:
    """Give the text of a file with some records removed, changed or added.

    What was meant is compared with what the new text says before anybody sees it.

    Args:
        file: The file, for errors.
        text: Its text; empty for a new file.
        records: What the text says.
        removed: Which of them go, by their index.
        ends: New stage and reason, by index.
        new: Further records.

    Raises:
        InvalidInput: The layout is one that cannot be edited so.
    """
    if not (removed or ends or new):
        return text
    tomlkit = require("tomlkit", "editing an expectation file")
    document = tomlkit.parse(text)
    for index, (stage, reason) in ends.items():
        document["failure"][index]["stage"] = stage
        document["failure"][index]["reason"] = reason
    document["schema"] = SCHEMA
    lines = _without(tomlkit.dumps(document).splitlines(keepends=True), removed)
    if new and lines and not lines[-1].endswith("\n"):
        lines.append("\n")
    lines += [f"\n[[failure]]\n{tomlkit.dumps(record)}" for record in new]
    after = "".join(lines)
    wanted = [
        {**record, **dict(zip(("stage", "reason"), ends.get(index, ())))}
        for index, record in enumerate(records)
        if index not in removed
    ] + list(new)
    try:
        found = records_of(after, file)
    except InvalidInput:
        found = []
    if found != wanted:
        raise InvalidInput(
            f"{file} is laid out in a way that cannot be edited line by line.",
            hint="write each record under a line [[failure]], with one field a line",
        )
    return after


def _without(lines: list[str], removed: Sequence[int]) -> list[str]:
    """Cut records out, each with the comment right above it; other comments stay."""
    headers = [n for n, line in enumerate(lines) if _HEADER.match(line)]
    limits = [*headers[1:], len(lines)]
    dropped: set[int] = set()
    for index in removed:
        if index < len(headers):
            start, stop = headers[index], _end_of(lines, headers[index], limits[index])
            while start > 0 and lines[start - 1].startswith("#"):
                start -= 1
            # A comment at the very top is the file's, not the first record's.
            dropped.update(range(start or headers[index], stop))
    kept = [line for n, line in enumerate(lines) if n not in dropped]
    while dropped and kept and not kept[-1].strip():
        kept.pop()
    return kept


def _end_of(lines: Sequence[str], header: int, limit: int) -> int:
    """Find the line after a record's last field and the blank lines below it."""
    end = header
    for n in range(header, limit):
        if lines[n].strip() and not lines[n].lstrip().startswith("#"):
            end = n
    end += 1
    while end < limit and not lines[end].strip():
        end += 1
    return end
