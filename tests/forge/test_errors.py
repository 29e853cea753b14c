import pickle

import pytest

import forge


def test_message_and_hint_are_shown() -> None:
    error = forge.InvalidInput("found this", hint="try that")
    assert str(error) == "found this\n  hint: try that"
    assert isinstance(error, ValueError)


def test_operators_are_named_once_and_in_order() -> None:
    error = forge.UnsupportedOperator("no", ["b::B", "a::A", "b::B"])
    assert error.operators == ("b::B", "a::A")


@pytest.mark.parametrize(
    "error",
    [
        forge.InvalidInput("message", hint="hint"),
        forge.MissingFramework("message"),
        forge.UnsupportedOperator("message", ["a::A"], hint="hint"),
        forge.CompileError("message"),
    ],
)
def test_errors_cross_process_borders(error: forge.ForgeError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)
