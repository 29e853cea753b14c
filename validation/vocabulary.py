"""The words of a verdict. Results, expectations and reports use these and no others."""

from __future__ import annotations

from enum import Enum


class Stage(str, Enum):
    """Where a cell is, in this order. A worker writes its stage before it enters it."""

    ENVIRONMENT = "environment"
    BUILD = "build"
    REFERENCE = "reference"
    LOAD = "load"
    FOLD = "fold"
    COMPILE = "compile"
    RUN = "run"
    COMPARE = "compare"
    LATENCY = "latency"


class Status(str, Enum):
    """How a cell ended, an expected failure told apart from an unexpected one."""

    PASS = "PASS"
    FAIL = "FAIL"
    XFAIL = "XFAIL"
    XPASS = "XPASS"
    SKIP = "SKIP"


class Reason(str, Enum):
    """Why a cell did not pass. A FAIL has exactly one."""

    INVALID_INPUT = "invalid-input"
    MISSING_FRAMEWORK = "missing-framework"
    UNSUPPORTED_OPERATOR = "unsupported-operator"
    FRONTEND_ERROR = "frontend-error"
    FOLD_ERROR = "fold-error"
    COMPILE_ERROR = "compile-error"
    RUN_ERROR = "run-error"
    WRONG_VALUES = "wrong-values"
    WRONG_SHAPE = "wrong-shape"
    WRONG_DTYPE = "wrong-dtype"
    WRONG_STRUCTURE = "wrong-structure"
    WRONG_NAMES = "wrong-names"
    VACUOUS = "vacuous"
    UNSTABLE_REFERENCE = "unstable-reference"
    REFERENCE_ERROR = "reference-error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out-of-memory"
    DISK_FULL = "disk-full"
    ENVIRONMENT_ERROR = "environment-error"


class Blame(str, Enum):
    """Whose fault it is that a cell did not pass, as far as it was measured."""

    PREPARE = "prepare"
    LOADER = "loader"
    FOLD = "fold"
    COMPILE = "compile"
    REFERENCE = "reference"
    INPUTS = "inputs"
    ENVIRONMENT = "environment"
    UNKNOWN = "unknown"


WRONG = frozenset(
    {
        Reason.WRONG_VALUES,
        Reason.WRONG_SHAPE,
        Reason.WRONG_DTYPE,
        Reason.WRONG_STRUCTURE,
        Reason.WRONG_NAMES,
    }
)
REFUSED = frozenset({Reason.UNSUPPORTED_OPERATOR, Reason.INVALID_INPUT, Reason.MISSING_FRAMEWORK})


class ExitCode(int, Enum):
    """What the command line says to the shell."""

    PASSED = 0
    FAILED = 1
    BAD_INPUT = 2
    NOTHING_CHECKED = 3
    INTERRUPTED = 130
