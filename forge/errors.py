"""Every error that Forge raises on purpose.

A message says what was found, what was expected and where; ``hint`` says what to try.
"""

from __future__ import annotations

from collections.abc import Iterable


class ForgeError(Exception):
    """Base of all errors raised by Forge.

    Args:
        message: What was found, what was expected, where.
        hint: What the user can try, shown on a line of its own.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  hint: {self.hint}" if self.hint else self.message


class InvalidInput(ForgeError, ValueError):
    """The caller gave something that cannot be used: a wrong type, name, shape, dtype or file."""


class MissingFramework(ForgeError, ImportError):
    """A framework that a loader needs is not installed."""


class UnsupportedOperator(ForgeError):
    """The model holds operators that cannot be loaded right.

    Attributes:
        operators: All of them, each once, as ``domain::Name`` or the framework's own name.
    """

    def __init__(self, message: str, operators: Iterable[str] = (), hint: str | None = None):
        super().__init__(message, hint)
        self.operators: tuple[str, ...] = tuple(dict.fromkeys(operators))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.message, self.operators, self.hint))


class LoadError(ForgeError):
    """TVM's frontend or the framework's exporter failed on a model that looked loadable."""


class FoldError(ForgeError):
    """A folding pass failed; ``fold=False`` loads the model without it."""


class CompileError(ForgeError):
    """TVM could not compile the module for the target."""


class RunError(ForgeError):
    """The compiled module failed while running."""
