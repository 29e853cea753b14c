"""Put the model of a cell into its bundle, or say where else it can be had."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from validation.bundles.layout import CASE, MODEL
from validation.bundles.manifest import Origin
from validation.bundles.parts import Parts, path_record
from validation.bundles.sources import ModelFile, StoredModel
from validation.case import Case
from validation.trial import Trial
from validation.zoos import GROUP


@dataclass(frozen=True)
class HeldModel:
    """How a bundle has its model: the fields of ``Manifest`` that say so."""

    model: str = ""
    trusted: bool = False
    origin: Origin | None = None


def add_model(trial: Trial, parts: Parts, origin: Origin | None) -> HeldModel:
    """Add the model to a bundle.

    The files that the case was built from are copied as they are, so that the replay opens what
    the cell opened; a model that was built by a function is stored by its framework. Where neither
    can be done and no zoo has it, the case itself is pickled.

    Args:
        trial: The cell.
        parts: The bundle's.
        origin: What ``zoo_origin`` found.
    """
    source = trial.case.build
    if isinstance(source, StoredModel):
        copied = parts.add(MODEL, partial(_copy, source.folder), _size(source.folder))
        return HeldModel("stored" if copied else "")
    if isinstance(source, ModelFile) and not (trial.framework.name == "onnx" and trial.sample):
        return _add_file(source, parts)
    trusted = isinstance(source, ModelFile) and source.trust
    if trial.sample is not None and parts.add(MODEL, partial(_store, trial)):
        return HeldModel("stored", trusted, origin)
    if isinstance(source, ModelFile):  # an ONNX file, whose tensors may lie in other files
        return _add_file(source, parts)
    if origin is None:
        parts.add(CASE, partial(_pickle, trial.case))
    return HeldModel(origin=origin)


def zoo_origin(case: Case) -> Origin | None:
    """Find the entry of an installed zoo that the case was made of."""
    for point in metadata.entry_points(group=GROUP):
        try:
            entries = tuple(point.load()())
        except Exception:
            continue
        for entry in entries:
            if entry.id == case.id and _same_function(entry.build, case.build) and point.dist:
                return Origin("zoo", case.id, point.dist.name, point.dist.version)
    return None


def _add_file(source: ModelFile, parts: Parts) -> HeldModel:
    name = f"{MODEL}/{file_name(source.path)}"
    if parts.add(name, partial(_copy, source.path), _size(source.path)):
        return HeldModel("file", source.trust)
    # Its path, which may tell who its user is, is named only where it is needed.
    origin = Origin("file", str(source.path), file=path_record(source.path))
    return HeldModel("", source.trust, origin)


def file_name(path: Path) -> str:
    """Name the copy of a user's file: its ending is what says what it is."""
    suffix = path.suffix
    plain = suffix[1:].isascii() and suffix[1:].isalnum()
    return f"model{suffix}" if plain else "model"


def _store(trial: Trial, folder: Path) -> bool:
    folder.mkdir()
    trial.framework.store(trial.built.model, folder, trial.built.options)
    return True


def _copy(source: Path, target: Path) -> bool:
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
    return True


def _pickle(case: Case, path: Path) -> bool:
    from forge.frameworks import require

    cloudpickle = require("cloudpickle", "writing a case into a bundle")
    path.write_bytes(cloudpickle.dumps(case))
    return True


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def _same_function(one: Callable[[], Any], other: Callable[[], Any]) -> bool:
    """Tell whether two functions stand under one name; pickling may have made two of one."""
    names = [
        (getattr(each, "__module__", None), getattr(each, "__qualname__", None))
        for each in (one, other)
    ]
    return names[0] == names[1] and None not in names[0] and "<locals>" not in str(names[0][1])
