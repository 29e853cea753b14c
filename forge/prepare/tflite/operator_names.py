"""What the operators of a TFLite model are called."""

from __future__ import annotations

from typing import Any

DETECTION_POSTPROCESS = "TFLite_Detection_PostProcess"


def builtin_names() -> dict[int, str]:
    """Map the operator codes of the installed schema to their names."""
    from tflite.BuiltinOperator import BuiltinOperator

    return {code: name for name, code in vars(BuiltinOperator).items() if isinstance(code, int)}


def operator_name(model: Any, operator: Any, names: dict[int, str]) -> tuple[str, bool]:
    """Name an operator and say whether it is a custom one.

    Files written before TFLite 2.4 hold the code in an 8-bit field, later ones in both.
    """
    code = model.OperatorCodes(operator.OpcodeIndex())
    number = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())
    name = names.get(number, f"BUILTIN_{number}")
    if name == "CUSTOM":
        return (code.CustomCode() or b"").decode("utf-8"), True
    return name, False


def all_operators(model: Any) -> list[tuple[int, Any]]:
    """List the operators of all subgraphs, each with the number of its subgraph."""
    return [
        (number, model.Subgraphs(number).Operators(index))
        for number in range(model.SubgraphsLength())
        for index in range(model.Subgraphs(number).OperatorsLength())
    ]
