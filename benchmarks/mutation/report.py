"""Count what was found and who was blamed, and plot detection by magnitude."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from validation.result import CheckResult
from validation.vocabulary import Reason, Stage, Status

# A fault counts when it moves an output by more than this many times the reference's own error.
_COUNTS_FROM = 10.0


@dataclass(frozen=True)
class Outcome:
    """What became of one fault.

    Attributes:
        id: Entry, seam and seed.
        seam: Where the fault was.
        kind: What it was; empty where none could be put there.
        ratio: How far it moves an output, in multiples of the reference's own error against
            float64: the largest over the outputs. None where numpy cannot evaluate the model.
        relative: The same over the output's largest value.
        status: How the check ended.
        stage: Where.
        blame: Whom it blamed.
        message: What it said.
    """

    id: str
    seam: str
    kind: str
    ratio: float | None
    relative: float | None
    status: str
    stage: str
    blame: str
    message: str

    @property
    def counts(self) -> bool:
        return self.ratio is not None and self.ratio > _COUNTS_FROM

    @property
    def caught(self) -> bool:
        return self.status == Status.FAIL.value

    @property
    def blamed_right(self) -> bool:
        return self.caught and self.blame == self.seam


def outcome_of(row: CheckResult, seam: str, record: Mapping[str, Any]) -> Outcome:
    """Make the outcome of a fault from its row and from what its worker measured."""
    planted = bool(record.get("kind")) and not (
        row.stage is Stage.BUILD and row.reason is Reason.ENVIRONMENT_ERROR
    )
    ratio, relative = _ratios(record) if planted else (None, None)
    return Outcome(
        row.id,
        seam,
        str(record["kind"]) if planted else "",
        ratio,
        relative,
        row.status.value,
        row.stage.value if row.stage else "",
        row.blame.value if row.blame else "",
        row.message,
    )


def _ratios(record: Mapping[str, Any]) -> tuple[float | None, float | None]:
    moved, errors, sizes = record.get("moved"), record.get("error"), record.get("size")
    if moved is None or errors is None or sizes is None:
        return None, None
    ratios, relatives = [0.0], [0.0]
    for distance, error, size in zip(moved, errors, sizes):
        # A reference that is exact by chance has still the error of one rounding.
        floor = max(error, 2**-24 * size, 1e-300)
        ratios.append(distance / floor)
        relatives.append(distance / max(size, 1e-300))
    return max(ratios), max(relatives)


def write_figures(
    outcomes: Sequence[Outcome], clean: Sequence[CheckResult], folder: Path
) -> dict[str, Any]:
    """Write outcomes and figures as JSON, the tables as Markdown, and the plot."""
    planted = [each for each in outcomes if each.kind]
    counted = [each for each in planted if each.counts]
    caught = [each for each in counted if each.caught]
    right = [each for each in caught if each.blamed_right]
    samples = sum(len({c.sample for c in row.comparisons}) for row in clean)
    figures = {
        "planned": len(outcomes),
        "planted": len(planted),
        "not_measured": sum(each.ratio is None for each in planted),
        "equivalent": sum(each.ratio is not None and not each.counts for each in planted),
        "counted": len(counted),
        "caught": len(caught),
        "blamed_right": len(right),
        "clean_runs": samples,
        "clean_failed": sum(row.status is Status.FAIL for row in clean),
        "clean_skipped": sum(row.status is Status.SKIP for row in clean),
    }
    (folder / "outcomes.json").write_text(
        json.dumps([asdict(each) for each in outcomes], indent=1), encoding="utf-8"
    )
    (folder / "figures.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    text = _markdown(figures, planted)
    (folder / "figures.md").write_text(text, encoding="utf-8")
    print(text)
    _plot(planted, folder / "detection.svg")
    return figures


def _markdown(figures: Mapping[str, Any], planted: Sequence[Outcome]) -> str:
    lines = ["| what | count |", "|---|---|"]
    lines += [f"| {name.replace('_', ' ')} | {count} |" for name, count in figures.items()]
    lines += [
        "",
        "| seam | counted | caught | blamed right | blamed otherwise |",
        "|---|---|---|---|---|",
    ]
    for seam in sorted({each.seam for each in planted}):
        part = [each for each in planted if each.seam == seam and each.counts]
        others = Counter(each.blame for each in part if each.caught and not each.blamed_right)
        said = ", ".join(f"{name} {count}" for name, count in others.items())
        lines.append(
            f"| {seam} | {len(part)} | {sum(e.caught for e in part)} | "
            f"{sum(e.blamed_right for e in part)} | {said} |"
        )
    lines += ["", "| kind | counted | caught | blamed right |", "|---|---|---|---|"]
    for kind in sorted({each.kind for each in planted}):
        part = [each for each in planted if each.kind == kind and each.counts]
        lines.append(
            f"| {kind} | {len(part)} | {sum(e.caught for e in part)} | "
            f"{sum(e.blamed_right for e in part)} |"
        )
    missed = [each for each in planted if each.counts and not each.caught]
    lines += ["", "Not caught:", ""]
    lines += [f"- `{e.id}` {e.kind}: moved {e.ratio:.3g} times the error" for e in missed] or [
        "- none"
    ]
    wrong = [each for each in planted if each.counts and each.caught and not each.blamed_right]
    lines += ["", "Caught, and blamed otherwise:", ""]
    lines += [f"- `{e.id}` {e.kind}: blamed {e.blame}" for e in wrong] or ["- none"]
    equal = [each for each in planted if each.ratio is not None and not each.counts]
    lines += ["", "Equivalent (moved by at most 10 times the reference's own error):", ""]
    lines += [
        f"- `{e.id}` {e.kind}: {e.ratio:.3g} times{', caught all the same' if e.caught else ''}"
        for e in equal
    ] or ["- none"]
    return "\n".join(lines) + "\n"


def _plot(planted: Sequence[Outcome], path: Path) -> None:
    """Plot the share of faults caught by how far they move an output, a bin a decade."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    bins: dict[int, list[bool]] = {}
    for each in planted:
        if each.ratio is None or each.ratio <= 0:
            continue
        decade = min(9, max(-1, math.floor(math.log10(min(each.ratio, 1e12)))))
        bins.setdefault(decade, []).append(each.caught)
    decades = sorted(bins)
    figure, axes = pyplot.subplots(figsize=(7, 3.5))
    axes.bar(decades, [sum(bins[d]) / len(bins[d]) for d in decades], color="#4477aa")
    for decade in decades:
        share = sum(bins[decade]) / len(bins[decade])
        axes.annotate(
            f"{sum(bins[decade])}/{len(bins[decade])}", (decade, share), ha="center", va="bottom"
        )
    axes.axvline(0.5, color="#cc3311", linestyle="--", label="10 times the reference's own error")
    axes.set_xticks(decades, [f"1e{d}" for d in decades])
    axes.set_xlabel("how far the fault moves an output, in errors of the reference against float64")
    axes.set_ylabel("share caught")
    axes.set_ylim(0, 1.15)
    axes.legend(loc="lower right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
