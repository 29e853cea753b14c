"""Look through the code of a stranger's TorchScript archive before torch compiles it.

Some of it runs while the archive is read (``__setstate__``), and a few of torch's operators write
or map files, call Python or other processes. Measured with torch 2.13: ``torch`` can be given
another name, and ``getattr`` reaches its operators by a text, whose letters may be numbers.
So it is names that are looked for, whatever stands before them. Nothing here tells code from text:
two readers that disagree on where a text ends would be a way around.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NAMES = "save|from_file|load_tensor|rpc_async|rpc_sync|rpc_remote|PythonOp|IgnoredPythonOp"
# Between two tokens there may be blanks, a backslash, and comments.
_GAP = r"(?:[\s\\]|#[^\n]*\n)*"
_AFTER_DOT = re.compile(rf"\.{_GAP}({_NAMES})\b")
_AS_TEXT = re.compile(rf"""["']({_NAMES})["']""")
_NAMESPACE = re.compile(rf"(?<![\w.])ops\b{_GAP}(?:\.{_GAP}(\w+))?")
_NAMESPACES = frozenset({"aten", "prim", "quantized"})
_CLASSES = re.compile(rf"\bclasses{_GAP}\.{_GAP}(\w+)")
_CLASS_NAMESPACES = frozenset({"quantized", "sparse"})
# A second argument that has a letter as a number, or consists of two texts.
_ODD_TEXT = re.compile(
    rf""",{_GAP}["']+[^"'\n]*\\[0-7xuUN]|,{_GAP}["']+\w*["']+{_GAP}["']+\w*["']"""
)


def code_that_reaches_out(source: str) -> Iterator[str]:
    """Name what in a file of TorchScript can reach beyond the model."""
    for pattern in (_AFTER_DOT, _AS_TEXT):
        for found in pattern.finditer(source):
            yield found[1]
    for found in _NAMESPACE.finditer(source):
        if found[1] not in _NAMESPACES:
            yield f"ops.{found[1] or '…'}"
    for found in _CLASSES.finditer(source):
        if found[1] not in _CLASS_NAMESPACES:
            yield f"classes.{found[1]}"
    if "getattr" in source and _ODD_TEXT.search(source):
        yield "getattr with a name in disguise"
