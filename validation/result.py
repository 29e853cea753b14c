"""The result of one cell: the row that everything else reads."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from validation.judges.protocol import Comparison
from validation.vocabulary import Blame, Reason, Stage, Status

SCHEMA = 2
_FIGURES = (
    "max_absolute",
    "mean_absolute",
    "max_relative",
    "mean_relative",
    "max_ulp",
    "mean_ulp",
    "needed_atol",
    "needed_rtol",
    "worst_ours",
    "worst_reference",
)


@dataclass(frozen=True)
class CheckResult:
    """How one cell ended; truthy when it passed.

    Attributes:
        id: The case, as ``<framework>/<family>/<variant>``.
        framework: Whose model it is.
        target: What it was compiled for.
        status: PASS, FAIL, XFAIL, XPASS or SKIP.
        stage: Where it ended; None when it passed.
        reason: Why it did not pass.
        message: The error, or what differs, in words.
        blame: Whose fault a failure is, as far as it was measured; None where nothing failed.
        evidence: What was measured to find the blame, a line a measurement.
        notes: What a reader should know though it failed nothing, such as an output that does
            not react to the inputs.
        comparisons: One an output and set of inputs.
        latency: Raw samples in seconds a call, under ``native`` and ``forge``.
        stage_seconds: Time spent in each stage.
        peak_memory: Largest resident size seen, in bytes.
        signal: Name of the signal that ended the worker, such as SIGSEGV.
        stderr: Last lines of what the worker wrote there.
        history: What loading did, a line a step.
        versions: Version by distribution, and the platform.
        environment: The machine and the settings: processor, threads.
        expectation: Why the failure was expected, with its link.
        bundle: The folder that replays this failure; empty where there is none.
    """

    id: str
    framework: str
    target: str
    status: Status
    stage: Stage | None = None
    reason: Reason | None = None
    message: str = ""
    blame: Blame | None = None
    evidence: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()
    latency: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    stage_seconds: Mapping[str, float] = field(default_factory=dict)
    peak_memory: int = 0
    signal: str = ""
    stderr: str = ""
    history: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    expectation: str = ""
    bundle: str = ""

    def __bool__(self) -> bool:
        return self.status is Status.PASS

    def __str__(self) -> str:
        where = f" at {self.stage.value}, {self.reason.value}" if self.stage and self.reason else ""
        where += f", blame {self.blame.value}" if self.blame else ""
        message = f": {self.message}" if self.message else ""
        return f"{self.status.value}{where}  {self.id} ({self.target}){message}"

    @property
    def is_unfinished(self) -> bool:
        """Tell whether this row only stands for a cell that was planned."""
        planned = (Status.SKIP, Stage.ENVIRONMENT, Reason.ENVIRONMENT_ERROR)
        return (self.status, self.stage, self.reason) == planned

    @property
    def max_absolute(self) -> float:
        """The largest absolute error over all outputs."""
        return max((c.max_absolute for c in self.comparisons), default=0.0)

    @property
    def needed_atol(self) -> float:
        """The absolute tolerance at which all outputs would have passed."""
        return max((c.needed_atol for c in self.comparisons), default=0.0)

    def to_json(self) -> str:
        """Write the row as one line of JSON.

        NaN and infinities are texts in it, as JSON has no such numbers.
        """
        record = asdict(self)
        for item in record["comparisons"]:
            for name in _FIGURES:
                if not math.isfinite(item[name]):
                    item[name] = str(item[name])
        return json.dumps({"schema": SCHEMA, **record}, allow_nan=False)

    def changed(self, **fields: Any) -> CheckResult:
        """Copy the row with some fields replaced."""
        return replace(self, **fields)


def from_json(line: str) -> CheckResult:
    """Read a row that ``CheckResult.to_json`` wrote.

    Raises:
        ValueError: It is no such row, or of a newer schema.
    """
    record = json.loads(line)
    if not isinstance(record, dict) or "schema" not in record:
        raise ValueError("not a result row: it has no schema")
    schema = record.pop("schema")
    if not isinstance(schema, int):
        raise ValueError(f"not a result row: its schema is {schema!r}")
    if schema > SCHEMA:
        raise ValueError(f"the row has schema {schema}, this Forge reads up to {SCHEMA}")
    try:
        record["status"] = Status(record["status"])
        for name, words in (
            ("stage", Stage),
            ("reason", Reason),
            ("blame", Blame),
        ):
            record[name] = words(record[name]) if record.get(name) else None
        record["comparisons"] = tuple(map(_comparison, record["comparisons"]))
        record["latency"] = {side: tuple(s) for side, s in record["latency"].items()}
        for name in ("history", "evidence", "notes"):
            record[name] = tuple(record.get(name, ()))
        return CheckResult(**record)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"not a result row: {error}") from error


def _comparison(item: dict[str, Any]) -> Comparison:
    if "not_finite" in item:  # schema 1 did not tell NaN from infinity
        ours, reference = item.pop("not_finite")
        item["nan"] = (ours, reference)
    item["reason"] = Reason(item["reason"]) if item["reason"] else None
    for name in ("worst_index", "nan", "infinite", "histogram", "notes"):
        item[name] = tuple(item.get(name, getattr(Comparison, name)))
    item.update({name: float(item[name]) for name in _FIGURES if name in item})
    return Comparison(**item)
