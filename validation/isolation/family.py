"""A worker and every process that it started: how much memory they hold, and their end."""

from __future__ import annotations

from typing import Any

from forge.frameworks import require


class ProcessFamily:
    """A process and its descendants, those included that have left its process group.

    A descendant is known once a call of ``resident`` has seen it.

    Args:
        pid: The process at the root.
    """

    def __init__(self, pid: int) -> None:
        self._psutil: Any = require("psutil", "watching a worker's memory")
        self._pid = pid
        # psutil compares the time of creation, so that a pid in other hands is not taken for ours.
        self._known: dict[int, Any] = {}

    def resident(self) -> int:
        """Sum the resident bytes of all of them; 0 when the root has ended."""
        try:
            root = self._psutil.Process(self._pid)
            members = [root, *root.children(recursive=True)]
        except self._psutil.Error:
            return 0
        self._known.update({member.pid: member for member in members})
        return sum(map(self._resident_of, members))

    def kill(self) -> None:
        """Kill whoever of them still runs."""
        for member in list(self._known.values()):
            for process in (*self._children_of(member), member):
                try:
                    process.kill()
                except self._psutil.Error:
                    continue

    def _children_of(self, process: Any) -> list[Any]:
        try:
            return list(process.children(recursive=True))
        except self._psutil.Error:
            return []

    def _resident_of(self, process: Any) -> int:
        try:
            return int(process.memory_info().rss)
        except self._psutil.Error:
            return 0
