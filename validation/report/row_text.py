"""Tell one row at length, a line a fact."""

from __future__ import annotations

import math
from collections.abc import Sequence

from validation.judges.protocol import Comparison
from validation.report.summary import latency_ratio, milliseconds
from validation.result import CheckResult
from validation.vocabulary import Reason

_BUCKETS = ("equal", *(f"<1e-{power}" for power in range(8, 0, -1)), "<1", "≥1", "not finite")


def row_lines(row: CheckResult) -> list[str]:
    """Tell what a row holds: the verdict's message, blame, errors, loading and latency."""
    lines = [row.message] if row.message else []
    if row.blame:
        lines.append(f"blame: {row.blame.value}")
    lines += [f"evidence: {each}" for each in row.evidence]
    for output in dict.fromkeys(c.output for c in row.comparisons):
        lines += _output_lines([c for c in row.comparisons if c.output == output])
    lines += [f"note: {note}" for note in row.notes]
    lines += [f"loading: {step}" for step in row.history]
    ratio = latency_ratio(row)
    if ratio is not None:
        native, forge = milliseconds(row, "native"), milliseconds(row, "forge")
        lines.append(
            f"latency: native {native:.3f} ms, Forge {forge:.3f} ms, {ratio:.2f} times native"
        )
    if row.bundle:
        lines.append(f"bundle: {row.bundle} (forge replay {row.bundle})")
    if row.stderr and not row.comparisons:
        lines.append(f"the worker's last words:\n{row.stderr}")
    return lines


def _output_lines(comparisons: Sequence[Comparison]) -> list[str]:
    """Tell of each sample that differs, and of the worst one where none does."""
    failed = [c for c in comparisons if not c]
    if failed:
        return [line for c in failed for line in _comparison_lines(c, f", sample {c.sample}")]
    worst = max(comparisons, key=lambda c: (c.needed_atol, c.max_absolute))
    count = len(comparisons)
    return _comparison_lines(worst, f", the worst of {count} samples" if count > 1 else "")


def _comparison_lines(c: Comparison, which: str) -> list[str]:
    line = f"output {c.output}{which}: {'same' if c else c.message}"
    if c.reason not in (None, Reason.WRONG_VALUES):
        return [line]
    line += f"; max abs {c.max_absolute:.3g}, max rel {c.max_relative:.3g}, {c.max_ulp:.3g} ULP"
    if math.isfinite(c.needed_atol):
        line += f", would pass at atol={c.needed_atol:.3g} or rtol={c.needed_rtol:.3g}"
    lines = [f"{line}; {c.judge}"]
    if not c:
        lines.append(
            f"  mean abs {c.mean_absolute:.3g}, mean rel {c.mean_relative:.3g}; worst at "
            f"{list(c.worst_index)}: {c.worst_ours:.9g}, reference {c.worst_reference:.9g}; "
            f"NaN {c.nan[0]} and {c.nan[1]}, infinite {c.infinite[0]} and {c.infinite[1]}"
        )
        counts = [f"{name} {n}" for name, n in zip(_BUCKETS, c.histogram) if n]
        if counts:
            lines.append(f"  elements by error over the reference's size: {', '.join(counts)}")
    return lines + [f"  {note}" for note in c.notes]
