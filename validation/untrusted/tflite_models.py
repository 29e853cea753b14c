"""Check that the subgraphs of a TFLite model call each other, and never themselves.

The interpreter prepares what a WHILE or an IF calls by calling itself: a loop among them ends in a
stack overflow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forge import InvalidInput
from forge.frameworks import require

# By the union's number: the options' class, and its fields that name subgraphs.
_CALLS = {
    92: ("IfOptions", ("ThenSubgraphIndex", "ElseSubgraphIndex")),
    93: ("WhileOptions", ("CondSubgraphIndex", "BodySubgraphIndex")),
    16: ("CallOptions", ("Subgraph",)),
    103: ("CallOnceOptions", ("InitSubgraphIndex",)),
}


def check_control_flow(data: bytes, where: str) -> None:
    """Refuse subgraphs that call themselves, or one that is not there.

    Args:
        data: A model that ``check_flatbuffer`` has let through.
        where: The file, for the error.

    Raises:
        InvalidInput: They do.
    """
    tflite: Any = require("tflite", "opening a TFLite model")
    model = tflite.Model.GetRootAs(bytearray(data), 0)
    count = model.SubgraphsLength()
    calls = {index: sorted(set(_called(tflite, model.Subgraphs(index)))) for index in range(count)}
    missing = [called for each in calls.values() for called in each if not 0 <= called < count]
    if missing:
        raise InvalidInput(
            f"{where} calls its subgraph {missing[0]}, and has {count}.",
            hint="compare its size and checksum with the original",
        )
    # Take away what calls nothing more; what is left goes in a circle.
    while calls:
        done = [index for index, called in calls.items() if not any(c in calls for c in called)]
        if not done:
            raise InvalidInput(
                f"the subgraph {min(calls)} of {where} calls itself, directly or not.",
                hint="convert the model again without recursion",
            )
        for index in done:
            del calls[index]


def _called(tflite: Any, subgraph: Any) -> Iterator[int]:
    for index in range(subgraph.OperatorsLength()):
        operator = subgraph.Operators(index)
        kind = _CALLS.get(operator.BuiltinOptionsType())
        table = operator.BuiltinOptions()
        if kind is None or table is None:
            continue
        options = getattr(tflite, kind[0])()
        options.Init(table.Bytes, table.Pos)
        for field in kind[1]:
            yield int(getattr(options, field)())
