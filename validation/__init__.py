"""Check that what Forge loads is right: run a model natively and through Forge, and compare.

>>> import validation
>>> result = validation.check(onnx_model)     # doctest: +SKIP
>>> assert result, result.message             # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from validation.case import BuiltSample, Case
    from validation.checking import check
    from validation.result import CheckResult
    from validation.vocabulary import Reason, Stage, Status

__all__ = ["BuiltSample", "Case", "CheckResult", "Reason", "Stage", "Status", "check"]

_HOMES = {
    "BuiltSample": "validation.case",
    "Case": "validation.case",
    "CheckResult": "validation.result",
    "Reason": "validation.vocabulary",
    "Stage": "validation.vocabulary",
    "Status": "validation.vocabulary",
    "check": "validation.checking",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    """Import what is asked for: the command line must answer ``--help`` without numpy."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'validation' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
