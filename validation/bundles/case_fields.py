"""The parts of a case that are data, as a manifest has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from validation.bundles.plain import NotPlainError, to_plain
from validation.bundles.sources import ModelFile, StoredModel
from validation.case import Case
from validation.inputs.plan import InputPlan
from validation.trial import Trial

_LARGEST = 1 << 20  # characters of an option


def fields_of_case(case: Case) -> dict[str, Any]:
    """Take what ``case_of_fields`` needs; ``given`` says that the outputs to expect were given."""
    plan = case.plan
    return {
        "id": case.id,
        "framework": case.framework,
        "rtol": None if case.rtol is None else float(case.rtol),
        "atol": None if case.atol is None else float(case.atol),
        "time_limit": float(case.time_limit),
        "memory_limit": int(case.memory_limit),
        "threads": int(case.threads),
        "latency": bool(case.latency),
        "fold": case.fold if isinstance(case.fold, bool) else tuple(case.fold),
        "judges": dict(case.judges),
        "given": case.reference_outputs is not None,
        "samples": int(plan.samples),
        "seed": int(plan.seed),
        "ranges": {name: (float(low), float(high)) for name, (low, high) in plan.ranges.items()},
    }


def case_of_fields(fields: Mapping[str, Any], **further: Any) -> Case:
    """Make a case of what ``fields_of_case`` gave.

    Args:
        fields: The fields.
        further: Those that are no data (``build``, ``reference_outputs``), or that replace others.
    """
    names = ("id", "framework", "rtol", "atol", "time_limit", "memory_limit", "threads")
    plan = InputPlan(fields["samples"], fields["seed"], fields["ranges"])
    given = {name: fields[name] for name in (*names, "latency", "fold", "judges")}
    return Case(**{**given, "plan": plan, **further})


def plain_target(target: Any) -> Any:
    """Give a target as data; of a ``tvm.target.Target``, the JSON text that makes it again."""
    try:
        to_plain(target)
    except (NotPlainError, RecursionError):
        return str(target)
    return target


def split_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Part a loader's options into those that are data, of some size, and the others."""
    plain: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for name, value in options.items():
        try:
            is_small = len(json.dumps(to_plain(value))) <= _LARGEST
        except (NotPlainError, RecursionError):
            is_small = False
        (plain if is_small else others)[name] = value
    return plain, others


def options_of(trial: Trial) -> Mapping[str, Any]:
    """Find the loader's options of a cell that may have ended before its sample was built."""
    if trial.sample is not None:
        return trial.sample.options
    source = trial.case.build
    return source.options if isinstance(source, (ModelFile, StoredModel)) else {}
