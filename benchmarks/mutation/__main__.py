"""Run the mutation study: ``python -m benchmarks.mutation --faults 240 --clean 500``."""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from benchmarks.mutation.cases import clean_case, faulty_case
from benchmarks.mutation.report import outcome_of, write_figures
from benchmarks.mutation.seams import SEAMS
from validation.case import Case
from validation.isolation import WorkerPool
from validation.result import CheckResult
from validation.vocabulary import Status
from validation.zoos import ZooEntry, installed_zoo, select

# Numpy evaluates them for minutes, twice for each fault.
_HEAVY = (
    "keras/mobilenet/v2",
    "keras/emotion/mini-xception",
    "onnx/text-detection/trained",
    "torch/sentence-encoder/minilm",
    "torch/strided-classifier/jit-load",
)


def main() -> int:
    """Run faults and fault-free checks, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=240, help="seeded faults")
    parser.add_argument("--clean", type=int, default=500, help="fault-free runs, at least")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first fault")
    parser.add_argument("--jobs", type=int, default=2, help="cells at the same time")
    parser.add_argument("--only", default="*", help="entry ids, a pattern")
    parser.add_argument("--seam", choices=SEAMS, help="faults at one seam alone")
    parser.add_argument("--output", type=Path, default=Path("reports/mutation"), help="a folder")
    arguments = parser.parse_args()
    entries = select(installed_zoo().entries, suite="smoke", patterns=[arguments.only])
    arguments.output.mkdir(parents=True, exist_ok=True)
    seams = (arguments.seam,) if arguments.seam else SEAMS
    with tempfile.TemporaryDirectory(prefix="forge-mutation-") as folder:
        plan = list(islice(_faults(entries, seams, arguments.seed, Path(folder)), arguments.faults))
        clean = _clean(entries, arguments.clean, arguments.seed)
        rows = _run([case for case, _ in plan] + clean, arguments.jobs, arguments.output)
        outcomes = [
            outcome_of(rows[case.id], seam, _record(Path(folder), case)) for case, seam in plan
        ]
    passed = [rows[case.id] for case in clean]
    write_figures(outcomes, passed, arguments.output)
    return 0


def _faults(
    entries: Sequence[ZooEntry], seams: Sequence[str], seed: int, folder: Path
) -> Iterator[tuple[Case, str]]:
    """Go round entries and seams for ever, with a new seed each time."""
    light = [entry for entry in entries if entry.id not in _HEAVY]
    pairs = [(entry, seam) for seam in seams for entry in light]
    # Neighbours in the list are of different seams and models, so that a short run sees them all.
    pairs = pairs[::7] + [pair for n, pair in enumerate(pairs) if n % 7]
    for number, (entry, seam) in enumerate(cycle(pairs)):
        yield faulty_case(entry, seam, seed + number, folder), seam


def _clean(entries: Sequence[ZooEntry], runs: int, seed: int) -> list[Case]:
    if not runs:
        return []
    each = -(-runs // len(entries))
    return [clean_case(entry, each, seed) for entry in entries]


def _run(cases: Sequence[Case], jobs: int, folder: Path) -> dict[str, CheckResult]:
    rows: dict[str, CheckResult] = {}
    with WorkerPool(jobs=jobs) as pool, open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        pending = [pool.submit(case, "llvm") for case in cases]
        for done in concurrent.futures.as_completed(pending):
            row = done.result()
            rows[row.id] = row
            file.write(row.to_json() + "\n")
            file.flush()
            blame = row.blame.value if row.blame else ""
            print(f"[{len(rows)}/{len(cases)}] {row.status.value:<5} {row.id} {blame}")
            sys.stdout.flush()
            if row.status is Status.FAIL and "#clean#" in row.id:
                print(f"    false alarm: {row.message}")
    return rows


def _record(folder: Path, case: Case) -> dict[str, object]:
    entry, seam, seed = case.id.split("#")
    file = folder / f"{entry.replace('/', '--')}--{seam}--{seed}.json"
    if not file.exists():
        return {}
    record: dict[str, object] = json.loads(file.read_text(encoding="utf-8"))
    return record


if __name__ == "__main__":
    sys.exit(main())
