"""Write the bundle of a failed cell."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from forge import IRModule
from forge.files import write_whole
from forge.frameworks import require
from validation.bundles import layout
from validation.bundles.arrays import Record, write_arrays
from validation.bundles.case_fields import fields_of_case, options_of, plain_target, split_options
from validation.bundles.cleaning import is_complete_bundle, remove_bundle
from validation.bundles.machine import describe
from validation.bundles.manifest import Manifest
from validation.bundles.models import add_model, zoo_origin
from validation.bundles.parts import Parts, remove
from validation.bundles.readme import readme
from validation.bundles.sources import ModelFile, StoredModel
from validation.bundles.verdict import verdict_of
from validation.reasons import text_of
from validation.result import CheckResult
from validation.trial import Trial
from validation.vocabulary import Stage, Status

Keep = Callable[[CheckResult], None]
_LOADED = (Stage.FOLD, Stage.COMPILE, Stage.RUN, Stage.COMPARE, Stage.LATENCY)


def write_bundle(
    trial: Trial,
    row: CheckResult,
    root: Path,
    limit: int = layout.DEFAULT_LIMIT,
    keep: Keep = lambda row: None,
) -> CheckResult:
    """Leave a bundle of a cell that failed; other cells leave none.

    It replaces an earlier one of the same case, target and versions. Nothing that goes wrong here
    changes the verdict.

    Args:
        trial: What the cell came to.
        row: How it ended.
        root: The folder in which bundles lie; it is made where it is missing.
        limit: Bytes that a bundle may take. What does not fit is left out, in this order: our
            outputs, the reference's for further samples, the IR before folding, the model.
        keep: Called with the row once the bundle is there, before the model is loaded again for
            its IR before folding, which may end the process.

    Returns:
        The row with ``bundle`` set, or with a note that says why there is none.
    """
    if row.status is not Status.FAIL:
        return row
    try:
        return _Writing(trial, row, root, limit).write(keep)
    except Exception as error:
        return row.changed(notes=(*row.notes, f"no bundle could be written: {text_of(error)}"))


class _Writing:
    def __init__(self, trial: Trial, row: CheckResult, root: Path, limit: int) -> None:
        self._trial = trial
        self._row = row
        self._path = root / layout.bundle_name(trial.case.id, row.target, row.versions)
        self._folder = root / f".{self._path.name}.{secrets.token_hex(4)}.part"
        self._parts = Parts(self._folder, limit)
        self._manifest = Manifest(
            case=fields_of_case(trial.case),
            target=plain_target(trial.target),
            expected=verdict_of(row),
            created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        )

    def write(self, keep: Keep) -> CheckResult:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._folder.mkdir()
        try:
            # First of all: by it, a folder that is left behind is known to be ours.
            write_whole(self._folder / layout.MANIFEST, self._manifest.to_json())
            self._add_parts()
            self._conclude(self._folder)
            _move(self._folder, self._path)
        except BaseException:
            remove(self._folder)
            raise
        row = self._row.changed(bundle=str(self._path))
        if layout.UNFOLDED not in self._parts.files and self._row.stage in _LOADED:
            keep(row)
            self._add_later()
        return row

    def _add_parts(self) -> None:
        trial, row, parts = self._trial, self._row, self._parts
        environment = describe(trial.framework.packages)
        parts.add(layout.ROW, partial(_write_text, row.to_json()))
        parts.add(layout.STDERR, partial(_write_text, row.stderr), record=False)
        parts.add(layout.ENVIRONMENT, partial(_write_text, json.dumps(environment, indent=1)))
        self._add_options()
        self._add_inputs()
        given = trial.case.reference_outputs
        expected = trial.references or given or ()
        # Outputs that were given cannot be computed again: none of them is a further one.
        first = len(expected) if given is not None else 1
        references = self._add_samples(layout.REFERENCE, expected[:first])
        origin = zoo_origin(trial.case)
        # A zoo has the model, but nothing else has what the loader made of it.
        if origin is not None:
            self._add_folded()
        held = add_model(trial, parts, origin)
        if origin is None:
            self._add_folded()
        if trial.ir is not None and trial.ir.unfolded is not None:
            self._add_unfolded()
        if references:
            references += self._add_samples(layout.REFERENCE, expected[first:], first)
        ours = self._add_samples(layout.OURS, trial.ours)
        self._manifest = self._manifest.changed(
            model=held.model,
            trusted=held.trusted,
            origin=held.origin,
            reference=references,
            ours=ours,
        )

    def _add_options(self) -> None:
        plain, pickled = split_options(options_of(self._trial))
        if pickled:
            self._parts.add(layout.OPTIONS, partial(_write_pickle, pickled))
        self._manifest = self._manifest.changed(options=plain, pickled_options=tuple(pickled))

    def _add_inputs(self) -> None:
        trial, source = self._trial, self._trial.case.build
        inputs: Sequence[Mapping[str, np.ndarray]] = trial.inputs
        made_up = trial.sample is not None and trial.sample.inputs is None
        if not inputs and isinstance(source, (ModelFile, StoredModel)):
            made_up = not source.samples
            inputs = source.samples
        records = self._add_samples(layout.INPUTS, inputs)
        if len(records) < len(inputs):
            records = ()
        # A function that makes inputs is code, which is not kept.
        made_up = made_up and trial.case.plan.function is None
        self._manifest = self._manifest.changed(inputs=records, made_up=made_up)

    def _add_samples(
        self, kind: str, samples: Sequence[Mapping[str, np.ndarray]], first: int = 0
    ) -> tuple[list[Record], ...]:
        """Add a file a sample, up to the first that is left out."""
        records: list[list[Record]] = []
        for number, arrays in enumerate(samples, first):
            least = sum(np.asarray(array).nbytes for array in arrays.values())
            write: Callable[[Path], list[Record]] = partial(_write_arrays, arrays)
            found = self._parts.add(layout.samples_file(kind, number), write, least)
            if found is None:
                break
            records.append(found)
        return tuple(records)

    def _add_folded(self) -> None:
        ir = self._trial.ir
        if ir is not None:
            self._parts.add(layout.FOLDED, ir.save)

    def _add_unfolded(self) -> None:
        self._parts.add(layout.UNFOLDED, lambda path: _unfolded(self._trial).save(path))

    def _add_later(self) -> None:
        """Add what needs the model to be loaded again to a bundle that stands already."""
        self._parts.move(self._path)
        self._add_unfolded()
        self._conclude(self._path)

    def _conclude(self, folder: Path) -> None:
        manifest = self._manifest.changed(
            files=self._parts.files, left_out=self._parts.left_out, complete=True
        )
        text = readme(manifest, self._row, self._path.name)
        write_whole(folder / layout.README, _encoded(text))
        write_whole(folder / layout.MANIFEST, manifest.to_json())


def _unfolded(trial: Trial) -> IRModule:
    ir = trial.ir
    if ir is None or ir.unfolded is None:
        return trial.load(fold=False)
    return IRModule(ir.unfolded, ir.inputs, ir.outputs, ir.history)


def _write_arrays(arrays: Mapping[str, np.ndarray], path: Path) -> list[Record]:
    return write_arrays(path, arrays)


def _write_text(text: str, path: Path) -> None:
    path.write_bytes(_encoded(text))


def _write_pickle(value: Any, path: Path) -> None:
    cloudpickle = require("cloudpickle", "writing options into a bundle")
    path.write_bytes(cloudpickle.dumps(value))


def _encoded(text: str) -> bytes:
    # A message may hold halves of characters, as a decoder of broken names leaves them.
    return text.encode("utf-8", "backslashreplace")


def _move(folder: Path, path: Path) -> None:
    """Put a finished bundle where an older one may stand.

    Raises:
        InvalidInput: Something else stands there.
    """
    if not os.path.lexists(path):
        folder.rename(path)
        return
    is_complete_bundle(path)
    older = folder.with_suffix(".old")
    path.rename(older)
    folder.rename(path)
    with contextlib.suppress(OSError):
        remove_bundle(older)
