"""Write and read the files of a run: rows as JSON lines, and the report as JSON and Markdown."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path

from forge import InvalidInput
from forge.files import write_whole
from forge.frameworks import require
from validation import environment
from validation.report import summary
from validation.result import CheckResult, from_json
from validation.vocabulary import Status

SCHEMA = 1


def write_report(rows: Sequence[CheckResult], stem: Path) -> tuple[Path, Path]:
    """Write ``<stem>.md`` and ``<stem>.json``.

    Raises:
        MissingFramework: jinja2 is not installed.
        OSError: They cannot be written.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    markdown, data = path_of(stem, ".md"), path_of(stem, ".json")
    counts = summary.summarise(rows)
    record = {
        "schema": SCHEMA,
        "verdict": counts.verdict,
        "summary": asdict(counts),
        "rows": [json.loads(row.to_json()) for row in rows],
    }
    write_whole(data, json.dumps(record, indent=1))
    write_whole(markdown, render_markdown(rows))
    return markdown, data


def path_of(stem: Path, suffix: str) -> Path:
    """Name a file of a report; ``release-1.2`` keeps its dot, and ``report.md`` is ``report``."""
    name = stem.stem if stem.suffix in (".md", ".json", ".jsonl") else stem.name
    return stem.with_name(name + suffix)


def render_markdown(rows: Sequence[CheckResult]) -> str:
    """Render the qualification report."""
    jinja2 = require("jinja2", "writing a report")
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("validation.report"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    templates.filters.update(cell=_table_cell, code=_code)
    versions: dict[str, set[str]] = {}
    for row in rows:
        for name, version in row.versions.items():
            versions.setdefault(name, set()).add(version)
    text: str = templates.get_template("qualification.md.j2").render(
        rows=rows,
        counts=summary.summarise(rows),
        frameworks=summary.by_framework(rows),
        milliseconds=summary.milliseconds,
        ratio=summary.latency_ratio,
        versions={name: ", ".join(sorted(found)) for name, found in sorted(versions.items())},
        processor=environment.processor(),
        targets=", ".join(sorted({row.target for row in rows})) or "none",
        written=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        with_status=lambda *names: [row for row in rows if row.status in map(Status, names)],
    )
    return text


def read_rows(paths: Sequence[Path], by_versions: bool = False) -> list[CheckResult]:
    """Read rows from JSON-lines files or JSON reports.

    Of several rows with one id and target the last counts.

    Args:
        paths: The files.
        by_versions: Rows of one id and target that were measured with other versions all count.

    Raises:
        InvalidInput: A file that is missing or holds something else.
    """
    rows: dict[object, CheckResult] = {}
    for path in paths:
        for row in _rows_of(path):
            versions = frozenset(row.versions.items()) if by_versions else None
            rows[row.id, row.target, versions] = row
    return list(rows.values())


def _rows_of(path: Path) -> list[CheckResult]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            return [from_json(json.dumps(record)) for record in json.loads(text)["rows"]]
        lines = [line for line in text.split("\n") if line.strip()]
        torn = bool(lines) and not text.endswith("\n") and _is_torn(lines[-1])
        whole = lines[:-1] if torn else lines
        rows = [_numbered(number, line) for number, line in enumerate(whole, start=1)]
        if torn and not _has_unfinished(rows):
            _numbered(len(lines), lines[-1])
        return rows
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            f"{str(path)!r} cannot be read as results: {error}",
            hint="give the .jsonl or .json that 'forge matrix' wrote",
        ) from error


def _has_unfinished(rows: Sequence[CheckResult]) -> bool:
    """Tell whether a killed run left these: the row that it tore still stands there as planned."""
    last = {(row.id, row.target): row for row in rows}
    return any(row.is_unfinished for row in last.values())


def _is_torn(line: str) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return True
    return False


def _numbered(number: int, line: str) -> CheckResult:
    try:
        return from_json(line)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from error


def _code(value: object) -> str:
    return "`" + " ".join(str(value).split()).replace("`", "'").replace("|", "\\|") + "`"


def _table_cell(value: object) -> str:
    """Make one line of any text, with nothing in it that Markdown takes for structure."""
    text = " ".join(str(value).split())
    for mark, written in (
        ("\\", "\\\\"),
        ("&", "&amp;"),
        ("<", "&lt;"),
        ("|", "\\|"),
        ("`", "\\`"),
    ):
        text = text.replace(mark, written)
    return text
