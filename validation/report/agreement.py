"""Show how two ways to one model compare."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from validation.against import Agreement
from validation.blame.words import difference
from validation.judges.protocol import Comparison
from validation.report.terminal import print_row


def print_agreement(agreement: Agreement) -> None:
    """Print both rows at length, and then what differs between them."""
    print_row(agreement.row)
    if agreement.other is None:
        print("The other model was not run: the first one gave no inputs for it.")
        return
    print_row(agreement.other)
    print("AGREE" if agreement else "DISAGREE")
    print(f"  native against native: {_found(agreement.native)}")
    print(f"  Forge against Forge: {_found(agreement.compiled)}")
    for name, (first, second) in agreement.operators.items():
        print(f"  {name}: {first} and {second}")


def agreement_record(agreement: Agreement) -> dict[str, Any]:
    """Make a record for JSON; schema 1."""
    rows = (agreement.row, agreement.other)
    return {
        "schema": 1,
        "agree": bool(agreement),
        "rows": [json.loads(row.to_json()) for row in rows if row is not None],
        "native": _found(agreement.native),
        "compiled": _found(agreement.compiled),
        "operators": agreement.operators,
    }


def _found(comparisons: Sequence[Comparison]) -> str:
    return difference(comparisons) if comparisons else "not compared, one of both did not run"
