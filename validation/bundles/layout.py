"""What a bundle consists of, and what its folder is called."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

FORMAT = "forge-bundle"
SCHEMA = 1
DEFAULT_LIMIT = 256 << 20

MANIFEST = "bundle.json"
ROW = "row.json"
README = "README.md"
STDERR = "stderr.txt"
ENVIRONMENT = "environment.json"
OPTIONS = "options.pkl"
CASE = "case.pkl"
MODEL = "model"
UNFOLDED = "ir/unfolded.forge"
FOLDED = "ir/folded.forge"
INPUTS, REFERENCE, OURS = "inputs", "reference", "ours"

_ODD = re.compile(r"[^A-Za-z0-9._-]")
_READABLE = 100


def samples_file(kind: str, sample: int) -> str:
    """Name the file that holds the arrays of one sample."""
    return f"{kind}/{sample}.npz"


def bundle_name(id: str, target: str, versions: Mapping[str, str]) -> str:
    """Name the folder of a cell's bundle: one name a case, target and set of versions.

    It is a single, visible path component, whatever the id holds.
    """
    identity = json.dumps([id, target, sorted(versions.items())])
    digest = hashlib.sha256(identity.encode()).hexdigest()[:10]
    readable = _ODD.sub(_escaped, id.replace("/", "--"))[:_READABLE]
    name = f"{readable}-{digest}"
    return f"%{ord(name[0]):02x}{name[1:]}" if name[0] in ".-" else name


def _escaped(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02x}"
