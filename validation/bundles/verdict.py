"""The part of a result row that a replay must bring about again."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from validation.result import CheckResult
from validation.vocabulary import Blame, Reason, Stage, Status


@dataclass(frozen=True)
class Verdict:
    """How a cell ended: see ``CheckResult``."""

    status: Status
    stage: Stage | None
    reason: Reason | None
    blame: Blame | None

    def __str__(self) -> str:
        where = f" at {self.stage.value}" if self.stage else ""
        reason = f", {self.reason.value}" if self.reason else ""
        blame = f", blame {self.blame.value}" if self.blame else ""
        return f"{self.status.value}{where}{reason}{blame}"

    def to_json(self) -> dict[str, Any]:
        """Give the words as JSON has them."""
        return {name: word.value if word else None for name, word in asdict(self).items()}

    def changes(self, other: Verdict) -> list[str]:
        """Say in which words another verdict differs from this one, a line a word."""
        old, new = self.to_json(), other.to_json()
        return [
            f"{name} was {old[name] or 'none'}, now it is {new[name] or 'none'}"
            for name in old
            if old[name] != new[name]
        ]


def verdict_of(row: CheckResult) -> Verdict:
    """Take the verdict from a row."""
    return Verdict(row.status, row.stage, row.reason, row.blame)


def verdict_from_json(record: Any) -> Verdict:
    """Read what ``Verdict.to_json`` wrote.

    Raises:
        ValueError: It is no verdict.
    """
    if not isinstance(record, dict):
        raise ValueError("no verdict")
    try:
        stage, reason, blame = (record[name] for name in ("stage", "reason", "blame"))
        return Verdict(
            Status(record["status"]),
            None if stage is None else Stage(stage),
            None if reason is None else Reason(reason),
            None if blame is None else Blame(blame),
        )
    except KeyError as error:
        raise ValueError(f"a verdict without {error}") from error
