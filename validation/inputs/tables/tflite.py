"""Tables of a TFLite model: constants from which GATHER and EMBEDDING_LOOKUP take rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forge.frameworks import require
from validation.inputs.tables.walk import reached, smallest

_PASSED_ON = ("CAST", "RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TRANSPOSE", "TILE", "SLICE")
_SAME_ROWS = ("CAST", "DEQUANTIZE")


def table_sizes(model: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """See ``validation.inputs.tables``; the first subgraph is looked into."""
    require("tflite", "reading a TFLite model")
    from forge.loaders.tflite import borders
    from forge.prepare.tflite.read_buffer import parse, read_buffer

    parsed = parse(read_buffer(model))
    graph = parsed.Subgraphs(0)
    specs, _ = borders(parsed)
    names = {graph.Inputs(place): spec.name for place, spec in enumerate(specs)}
    operators = [
        (_name(parsed, graph.Operators(i)), graph.Operators(i))
        for i in range(graph.OperatorsLength())
    ]
    producers = {
        operator.Outputs(i): (name, operator)
        for name, operator in operators
        for i in range(operator.OutputsLength())
    }

    def passed(kinds: Sequence[str], tensor: int) -> Sequence[int]:
        name, operator = producers.get(tensor, ("", None))
        return [operator.Inputs(0)] if operator is not None and name in kinds else []

    def found() -> Iterator[tuple[str, int]]:
        for name, operator in operators:
            if name == "GATHER" and not _axis(operator):
                table, index = operator.Inputs(0), operator.Inputs(1)
            elif name == "EMBEDDING_LOOKUP":
                table, index = operator.Inputs(1), operator.Inputs(0)
            else:
                continue
            tables = reached(table, lambda tensor: passed(_SAME_ROWS, tensor))
            constant = [tensor for tensor in tables if _is_constant(parsed, graph, tensor)]
            indices = reached(index, lambda tensor: passed(_PASSED_ON, tensor))
            for tensor in constant:
                rows = int(graph.Tensors(tensor).Shape(0))
                yield from ((names[i], rows) for i in indices if i in names)

    return smallest(found())


def _name(parsed: Any, operator: Any) -> str:
    from tflite.BuiltinOperator import BuiltinOperator

    code = parsed.OperatorCodes(operator.OpcodeIndex())
    # Files older than schema 3a have the code in one byte only.
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    names = {value: key for key, value in vars(BuiltinOperator).items() if isinstance(value, int)}
    return str(names.get(number, ""))


def _axis(operator: Any) -> int:
    from tflite.GatherOptions import GatherOptions

    table = operator.BuiltinOptions()
    if table is None:
        return 0
    options = GatherOptions()
    options.Init(table.Bytes, table.Pos)
    return int(options.Axis()) or int(options.BatchDims())


def _is_constant(parsed: Any, graph: Any, tensor: int) -> bool:
    return bool(parsed.Buffers(graph.Tensors(tensor).Buffer()).DataLength())
