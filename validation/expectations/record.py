"""What is known of one failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion

from validation.result import CheckResult
from validation.vocabulary import Reason, Stage


@dataclass(frozen=True)
class Expectation:
    """One known failure.

    Attributes:
        case: A case's id, or a pattern of ids.
        stage: Where it fails.
        reason: Why it fails, in the vocabulary's words.
        why: The same in a sentence.
        link: Where it is tracked.
        target: The target to which it applies; empty for all.
        versions: By distribution, or ``python``, the versions in which it fails, such as
            ``{"onnxruntime": ">=1.20,<1.23"}``; a row must have all of them.
    """

    case: str
    stage: Stage
    reason: Reason
    why: str
    link: str
    target: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    def applies_to(self, row: CheckResult) -> bool:
        """Tell whether a row is of the case, the target and the versions."""
        return (
            fnmatchcase(row.id, self.case)
            and self.target in ("", row.target)
            and all(
                _contains(ranges, row.versions.get(name, ""))
                for name, ranges in self.versions.items()
            )
        )


def _contains(ranges: str, version: str) -> bool:
    try:
        return bool(version) and SpecifierSet(ranges).contains(version, prereleases=True)
    except InvalidVersion:
        return False
