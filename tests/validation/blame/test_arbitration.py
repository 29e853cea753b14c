from __future__ import annotations

import pytest

from validation.blame.arbitration import Opinion, verdict_of
from validation.vocabulary import Blame


def opinion(votes: str) -> Opinion:
    """Read ``R`` (for the reference), ``F`` (for Forge); small letters share the kernels."""
    return Opinion("an arbiter", "r" in votes.lower(), "f" in votes.lower(), votes == votes.upper())


@pytest.mark.parametrize(("votes", "blame"), [
    ([], Blame.LOADER),
    (["R"], Blame.LOADER),
    (["F"], Blame.REFERENCE),
    (["f"], Blame.REFERENCE),
    (["r"], Blame.LOADER),
    (["f", "F"], Blame.REFERENCE),
    (["r", "F"], Blame.REFERENCE),
    (["f", "R"], Blame.LOADER),
    (["R", "F"], Blame.UNKNOWN),
    (["RF", ""], Blame.UNKNOWN),
    (["", "F"], Blame.REFERENCE),
    (["RF"], Blame.UNKNOWN),
])  # fmt: skip
def test_votes(votes: list[str], blame: Blame) -> None:
    assert verdict_of([opinion(each) for each in votes]) is blame
