"""Say what a pickle would import, without unpickling it.

Not even torch's ``weights_only`` reader sees a stranger's pickle here: it has had ways around it
(CVE-2025-32434, CVE-2026-24747), and weights alone are no model in any case.
"""

from __future__ import annotations

import pickletools
import re
import zipfile
from pathlib import Path

from forge import InvalidInput
from validation.untrusted.archives import Source, is_archive, open_archive

_MOST_OPERATIONS = 5_000_000
# Of a torch.save before 1.6: pickles of a number, a version and the machine come first.
_LEGACY_PICKLES = 5
_WEIGHTS = re.compile(
    r"torch\._utils\._rebuild_(tensor|tensor_v2|tensor_v3|parameter|parameter_with_state|qtensor|"
    r"sparse_tensor|sparse_csr_tensor|meta_tensor_no_storage)|"
    r"torch\.(\w+Storage|Size|device|dtype|Tensor|storage\.(Untyped|Typed)Storage|"
    r"nn\.parameter\.Parameter|serialization\._get_layout|"
    r"(float|bfloat|u?int|complex|q?u?int)\d+(_e\d+m\d+\w*)?|bool|per_tensor_affine|"
    r"per_channel_affine)|"
    r"collections\.OrderedDict|_codecs\.encode"
)


def foreign_names(data: bytes) -> list[str]:
    """Name everything that a pickle imports and that is no part of tensors, sorted.

    Raises:
        ValueError: It is no whole pickle.
    """
    return sorted({name for name in _imported(data) if not _WEIGHTS.fullmatch(name)})


def holds_weights_alone(source: Source) -> bool:
    """Tell whether a file of ``torch.save`` holds tensors in plain containers, and nothing else.

    Args:
        source: An archive as torch writes it since 1.6, or the pickles that it wrote before.
    """
    try:
        if isinstance(source, Path) and not is_archive(source):
            data = source.read_bytes()
        elif isinstance(source, bytes) and source[:2] != b"PK":
            data = source
        else:
            with open_archive(source) as archive:
                names = [n for n in archive.namelist() if n.rpartition("/")[2].endswith(".pkl")]
                return bool(names) and not any(foreign_names(archive.read(n)) for n in names)
        for _ in range(_LEGACY_PICKLES):
            if foreign_names(data):
                return False
            data = data[_length(data) :]
            if not data:
                break
        return True
    except (ValueError, InvalidInput, zipfile.BadZipFile, OSError, IndexError):
        return False


def _imported(data: bytes) -> set[str]:
    names: set[str] = set()
    texts: list[str] = []
    memo: dict[int, str] = {}
    last = ""
    for count, (operation, argument, _) in enumerate(pickletools.genops(data)):
        if count > _MOST_OPERATIONS:
            raise ValueError("the pickle is too long")
        name = operation.name
        if name in ("GLOBAL", "INST"):
            names.add(str(argument).replace(" ", "."))
        elif name == "STACK_GLOBAL":
            # Texts come from the stack, where a memo may have put them; what they are cannot
            # always be told without running it, and then it is no plain file of weights.
            names.add(".".join(texts[-2:]) if len(texts) > 1 else "?")
        elif name in ("EXT1", "EXT2", "EXT4", "OBJ", "NEWOBJ_EX"):
            names.add(name)
        elif name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            memo[len(memo) if argument is None else int(argument)] = last
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            texts.append(memo.get(int(argument or 0), "?"))
        last = argument if isinstance(argument, str) else "?"
        if isinstance(argument, str) and "UNICODE" in name:
            texts.append(argument)
    return names


def _length(data: bytes) -> int:
    for operation, _, position in pickletools.genops(data):
        if operation.name == "STOP":
            return int(position or 0) + 1
    return len(data)
