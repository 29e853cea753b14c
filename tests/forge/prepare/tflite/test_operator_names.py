from types import SimpleNamespace
from typing import Any

import pytest

from forge.prepare.tflite.operator_names import all_operators, builtin_names, operator_name

pytest.importorskip("tflite")


def model(builtin: int, deprecated: int, custom: bytes | None = None) -> Any:
    """Stand in for a model of one operator code."""
    code = SimpleNamespace(
        BuiltinCode=lambda: builtin,
        DeprecatedBuiltinCode=lambda: deprecated,
        CustomCode=lambda: custom,
    )
    return SimpleNamespace(OperatorCodes=lambda index: code)


OPERATOR = SimpleNamespace(OpcodeIndex=lambda: 0)


@pytest.mark.parametrize(
    ("builtin", "deprecated", "name"),
    [
        (3, 3, "CONV_2D"),
        (0, 3, "CONV_2D"),  # written before TFLite 2.4
        (150, 127, "GELU"),
        (0, 0, "ADD"),
        (9999, 127, "BUILTIN_9999"),
    ],
)
def test_builtin_operators(builtin: int, deprecated: int, name: str) -> None:
    assert operator_name(model(builtin, deprecated), OPERATOR, builtin_names()) == (name, False)


@pytest.mark.parametrize(("code", "name"), [(b"My_Op", "My_Op"), (None, "")])
def test_custom_operators(code: bytes | None, name: str) -> None:
    assert operator_name(model(32, 32, code), OPERATOR, builtin_names()) == (name, True)


def test_operators_of_all_subgraphs() -> None:
    subgraphs = [
        SimpleNamespace(Operators=lambda i: f"first {i}", OperatorsLength=lambda: 2),
        SimpleNamespace(Operators=lambda i: f"second {i}", OperatorsLength=lambda: 1),
    ]
    whole = SimpleNamespace(Subgraphs=subgraphs.__getitem__, SubgraphsLength=lambda: 2)
    assert all_operators(whole) == [(0, "first 0"), (0, "first 1"), (1, "second 0")]
