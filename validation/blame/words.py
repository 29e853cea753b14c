"""Say in a line what comparisons found."""

from __future__ import annotations

from collections.abc import Sequence

from validation.judges.protocol import Comparison


def is_same(comparisons: Sequence[Comparison]) -> bool:
    """Tell whether all of them pass."""
    return all(comparisons)


def difference(comparisons: Sequence[Comparison]) -> str:
    """Tell how far two results differ, and at which output most."""
    failed = [each for each in comparisons if not each]
    if not failed:
        largest = max((each.max_absolute for each in comparisons), default=0.0)
        return f"same, max abs {largest:.3g}"
    first = failed[0]
    figures = f", max abs {first.max_absolute:.3g}" if first.histogram else ""
    return f"DIFFERENT, output {first.output}: {first.message}{figures}"
