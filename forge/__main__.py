"""The door to the ``forge`` command line.

It stands here, and not in ``validation``, because a user's repository may well have a folder of
that name: our own is put first on the path before it is imported.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Run the command line that belongs to this installation."""
    home = str(Path(__file__).resolve().parents[1])
    if sys.path[:1] != [home]:
        sys.path.insert(0, home)
    from validation.cli import main as command_line

    return command_line()


if __name__ == "__main__":
    sys.exit(main())
