"""What is known of one failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from validation.result import CheckResult
from validation.vocabulary import Reason, Stage

# Its value is a name to be matched, not a version.
PLATFORM = "platform"


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
            ``{"onnxruntime": ">=1.20,<1.23"}``, and by ``platform`` a pattern of its name, such as
            ``*-aarch64-*``. All must match; a row that lacks one of them does not.
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
        return self.why_not(row) == ""

    def why_not(self, row: CheckResult) -> str:
        """Say why it does not apply to a row; empty where it does."""
        if not fnmatchcase(row.id, self.case):
            return "another case"
        if self.target not in ("", row.target):
            return f"the target is {row.target}"
        found = {canonicalize_name(name): version for name, version in row.versions.items()}
        for name, wanted in self.versions.items():
            version = found.get(canonicalize_name(name), "")
            if not _matches(name, wanted, version):
                return f"{name} is {version or 'not there'}"
        return ""

    def is_met_by(self, row: CheckResult) -> bool:
        """Tell whether a row fails just so, at this stage and for this reason."""
        return (row.stage, row.reason) == (self.stage, self.reason)


def _matches(name: str, wanted: str, version: str) -> bool:
    if name == PLATFORM:
        return fnmatchcase(version, wanted)
    try:
        return bool(version) and SpecifierSet(wanted).contains(version, prereleases=True)
    except InvalidVersion:
        return False
