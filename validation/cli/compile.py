"""``forge compile MODEL -o lib.so``: load, fold, compile, and write a library."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from validation.cli.model_arguments import add_model_arguments


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "compile",
        help="compile a model into a shared library",
        description="Compile a model into a library for forge.load_executable.",
    )
    add_model_arguments(parser)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="LIB.so")
    parser.add_argument("--target", default="llvm", help="TVM target (default: llvm)")
    parser.add_argument("--opt", default="default", help="baseline or default")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Load, compile and write."""
    from validation.cli.loading import compile_file

    compile_file(arguments, arguments.output)
    print(f"wrote {arguments.output}")
    return 0
