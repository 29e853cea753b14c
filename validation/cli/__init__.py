"""The ``forge`` command line: one file a command, each with ``register`` and ``run``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from validation.cli import (
    check,
    compile,
    doctor,
    expectations,
    inspect,
    matrix,
    replay,
    report,
    zoo,
)
from validation.vocabulary import ExitCode

_COMMANDS = (
    check, inspect, compile, matrix, report, replay, expectations, zoo, doctor,
)  # fmt: skip
_VERDICTS = ("check", "matrix", "report", "replay")
_EXIT_CODES = (
    "exit codes: 0 all passed, 1 a check failed, 2 bad usage or input, "
    "3 nothing was checked or the harness failed, 130 interrupted"
)


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of all commands, importing neither numpy nor a framework."""
    parser = argparse.ArgumentParser(
        prog="forge",
        description="Load models of any major framework into TVM Relax, and check them.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    parser.add_argument("--debug", action="store_true", help="show a traceback with an error")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for command in _COMMANDS:
        command.register(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    if options.version:
        from forge import __version__

        print(f"forge {__version__}")
        return ExitCode.PASSED
    if options.command is None:
        parser.print_help(sys.stderr)
        return ExitCode.BAD_INPUT
    # A check whose verdict was not written has not passed.
    code = ExitCode.NOTHING_CHECKED if options.command in _VERDICTS else ExitCode.PASSED
    try:
        code = options.run(options)
        sys.stdout.flush()
        return int(code)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as in `forge zoo | head`; say nothing more to it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(code)
    except Exception as error:
        if options.debug:
            raise
        return _explain(error)


def _explain(error: Exception) -> int:
    from forge import ForgeError, InvalidInput, MissingFramework, UnsupportedOperator

    if isinstance(error, ForgeError):
        print(f"forge: {error}", file=sys.stderr)
        bad = isinstance(error, (InvalidInput, MissingFramework, UnsupportedOperator))
        return ExitCode.BAD_INPUT if bad else ExitCode.FAILED
    if isinstance(error, OSError):
        print(f"forge: {error}", file=sys.stderr)
        return ExitCode.NOTHING_CHECKED
    print(
        f"forge: internal error: {type(error).__name__}: {error}\n"
        "  hint: run it again as 'forge --debug …' and report the traceback",
        file=sys.stderr,
    )
    return ExitCode.NOTHING_CHECKED
