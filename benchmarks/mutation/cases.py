"""Cases for the checker: a zoo entry with a fault in it, and one with many fault-free inputs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.mutation.output_faults import in_outputs
from benchmarks.mutation.seams import Fault, plant, with_inputs
from validation.case import Case
from validation.references import framework_named
from validation.zoos import ZooEntry


def faulty_case(entry: ZooEntry, seam: str, seed: int, folder: Path) -> Case:
    """Make a case whose worker has a fault; what the fault moves is written into ``folder``."""
    file = folder / f"{entry.id.replace('/', '--')}--{seam}--{seed}.json"
    return Case(
        id=f"{entry.id}#{seam}#{seed}",
        framework=entry.framework,
        build=partial(_build_faulty, entry.build, entry.framework, seam, seed, file),
        rtol=entry.rtol,
        atol=entry.atol,
        judges=getattr(entry, "judges", {}),
        latency=False,
        time_limit=240.0,
    )


def clean_case(entry: ZooEntry, count: int, seed: int) -> Case:
    """Make a case of an entry as it is, on ``count`` sets of inputs."""
    return Case(
        id=f"{entry.id}#clean#{seed}",
        framework=entry.framework,
        build=partial(_build_clean, entry.build, count, seed),
        rtol=entry.rtol,
        atol=entry.atol,
        judges=getattr(entry, "judges", {}),
        latency=False,
        time_limit=600.0,
    )


def _build_clean(build: Any, count: int, seed: int) -> Any:
    sample = build()
    sets = [variant(sample.inputs, seed + number) for number in range(count)]
    return with_inputs(sample, sets[0], sets[1:])


def variant(inputs: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """Draw other inputs like the given ones: floats of their mean and deviation, others shuffled.

    Floats within 0 to 1, such as pictures and masks, are shuffled too: they may not leave it.
    """
    generator = np.random.default_rng(seed)
    return {name: _like(array, generator) for name, array in inputs.items()}


def _like(array: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    bounded = array.size and array.dtype.kind == "f" and array.min() >= 0 and array.max() <= 1
    if array.dtype.kind != "f" or bounded:
        # Within a row: another row may be indices into another vocabulary.
        return generator.permuted(array, axis=-1) if array.ndim else array
    drawn = generator.standard_normal(array.shape) * array.std() + array.mean()
    return drawn.astype(array.dtype)


def _build_faulty(build: Any, framework_name: str, seam: str, seed: int, file: Path) -> Any:
    sample = build()
    framework = framework_named(framework_name)
    sample = with_inputs(sample, sample.inputs)
    native = framework.session(sample.model, sample.options, 1)
    native_outputs = native({n: np.array(a) for n, a in sample.inputs.items()})
    reference = list(native_outputs.values())
    clean = framework.load(sample.model, {**sample.options, "keep_unfolded": True})
    truth = _evaluated(clean, clean.unfolded, sample.inputs)
    fault = Fault(seam, seed)
    plant(fault)
    if seam == "reference":
        moved: list[np.ndarray] | None = list(in_outputs(native_outputs, fault.kind).values())
        base: list[np.ndarray] | None = reference
    else:
        ir = framework.load(sample.model, dict(sample.options))
        module = fault.module(ir.module) if seam == "compile" else ir.module
        moved, base = _evaluated(ir, module, sample.inputs), truth
    record = {
        "kind": fault.kind,
        "moved": _distances(moved, base),
        "error": _distances(reference, truth),
        "size": [float(np.abs(each.astype("f8")).max(initial=0)) for each in reference],
    }
    file.write_text(json.dumps(record), encoding="utf-8")
    return sample


def _evaluated(ir: Any, module: Any, inputs: Mapping[str, np.ndarray]) -> list[np.ndarray] | None:
    from validation.blame.evaluation import CannotEvaluateError, evaluate_module

    try:
        return list(evaluate_module(ir, module, inputs, np.dtype(np.float64)).values())
    except CannotEvaluateError:
        return None


def _distances(
    ours: list[np.ndarray] | None, theirs: list[np.ndarray] | None
) -> list[float] | None:
    """Give the largest difference of each output; infinite where only one is finite."""
    if ours is None or theirs is None:
        return None
    found = []
    for mine, other in zip(ours, theirs, strict=True):
        left, right = np.asarray(mine, "f8"), np.asarray(other, "f8")
        if left.shape != right.shape:
            found.append(float("inf"))
            continue
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        with np.errstate(invalid="ignore"):
            distance = np.where(same, 0, np.abs(left - right))
        found.append(float(np.nan_to_num(distance, nan=np.inf).max(initial=0)))
    return found
