"""``forge doctor``: say what is installed here and what can be checked with it."""

from __future__ import annotations

import argparse
import json
from typing import Any


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "doctor",
        help="say what is installed and what can be checked with it",
        description="Say what is installed here and what can be checked with it.",
    )
    parser.add_argument("--json", action="store_true", help="print it as JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print versions, and what each framework lacks."""
    import shutil

    from validation import environment
    from validation.matrix import missing_modules
    from validation.references import frameworks

    record: dict[str, Any] = {
        "processor": environment.processor(),
        "nvcc": shutil.which("nvcc") or "",
        "frameworks": {
            framework.name: {
                "missing": list(missing_modules(framework.name)),
                "versions": environment.versions(framework.packages),
            }
            for framework in frameworks()
        },
    }
    if arguments.json:
        print(json.dumps(record, indent=1))
        return 0
    print(f"processor   {record['processor']}")
    print(f"nvcc        {record['nvcc'] or 'not found: CUDA code cannot be compiled'}")
    for name, version in environment.versions().items():
        print(f"{name:<20} {version}")
    for framework in frameworks():
        missing = missing_modules(framework.name)
        found = environment.versions(framework.packages)
        have = ", ".join(f"{name} {found[name]}" for name in framework.packages if name in found)
        state = f"lacks {', '.join(missing)}: pip install 'forge-validation[{framework.name}]'"
        print(f"{framework.name:<12} {state if missing else 'ready'}   {have}")
    return 0
