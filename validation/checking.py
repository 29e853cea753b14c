"""Check one model: the function that most users call."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from forge import InvalidInput
from validation.bundles.cleaning import clean
from validation.bundles.running import Bundling
from validation.bundles.sources import ModelFile, StoredModel
from validation.case import Case
from validation.inputs import InputPlan
from validation.isolation import WorkerPool
from validation.judges.allclose import AllClose
from validation.judges.selection import parse_judge
from validation.references import framework_of_model, framework_of_path
from validation.requirements import require_checker
from validation.result import CheckResult

Inputs = Mapping[str, np.ndarray] | Sequence[Any]


def check(
    model: Any,
    inputs: Inputs | None = None,
    target: Any = "llvm",
    reference: Mapping[str, np.ndarray] | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    judges: Mapping[str, str] | None = None,
    plan: InputPlan | None = None,
    bundles: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    time_limit: float = 300.0,
    memory_limit: int = 8 << 30,
    threads: int = 1,
    latency: bool = True,
) -> CheckResult:
    """Run a model natively and through Forge, in a child process, and compare.

    Args:
        model: A model of any framework in memory, or a ``Case``.
        inputs: Arrays by input name, in the framework's order; or, for a torch model, what
            ``forge.from_torch`` takes: ``[("input0", (1, 3, 224, 224))]``. Left out, values are
            made up.
        target: A TVM target.
        reference: Output arrays by name to compare with; the native runtime is then not run.
        rtol, atol: Tolerances; None takes ones that fit dtype and size of the outputs.
        judges: By output name, or ``*`` for all others, a judge such as ``"ulp:4"``.
        plan: How inputs are made up where none are given.
        bundles: A folder in which a failure leaves a bundle for ``forge replay``.
        options: Keyword arguments of the framework's loader.
        time_limit: Seconds after which the child is ended.
        memory_limit: Resident bytes above which the child is ended.
        threads: Threads for the native runtime and for the compiled module.
        latency: Measure both latencies.

    Returns:
        The result, truthy when the check passes. A crash or a hang of the model is a result too.

    Raises:
        InvalidInput: ``model`` is of no framework that Forge loads, ``inputs`` is of the wrong
            kind, a tolerance is no number, or a ``Case`` comes with what it should hold itself.
    """
    require_checker()
    if isinstance(model, Case):
        given = {
            "inputs": inputs,
            "reference": reference,
            "rtol": rtol,
            "atol": atol,
            "judges": judges,
            "plan": plan,
            "options": options,
        }
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise InvalidInput(f"a Case brings its own {', '.join(extra)}: set them there.")
        return _run(model, target, bundles)
    if reference is not None and not isinstance(inputs, Mapping):
        raise InvalidInput("reference needs inputs: the arrays that give these outputs.")
    AllClose(rtol, atol)
    for text in (judges or {}).values():
        parse_judge(text)
    framework = framework_of_model(model)
    arrays, loader_options = _inputs_and_options(framework.name, inputs, dict(options or {}))
    with tempfile.TemporaryDirectory(prefix="forge-model-") as folder:
        framework.store(model, Path(folder), loader_options)
        case = Case(
            id=f"{framework.name}/in-memory/{type(model).__name__}",
            framework=framework.name,
            build=StoredModel(framework.name, Path(folder), arrays, loader_options),
            rtol=rtol,
            atol=atol,
            time_limit=time_limit,
            memory_limit=memory_limit,
            threads=threads,
            latency=latency,
            judges=dict(judges or {}),
            plan=plan or InputPlan(),
            reference_outputs=(reference,) if reference is not None else None,
        )
        return _run(case, target, bundles)


def _run(case: Case, target: Any, bundles: str | PathLike[str] | None) -> CheckResult:
    bundling = None if bundles is None else Bundling(Path(bundles).resolve())
    with WorkerPool(threads=case.threads) as pool:
        row = pool.submit(case, target, bundling).result()
    if bundling is not None:
        clean(bundling.root)
    return row


def case_of_file(
    path: Path,
    *,
    framework: str | None = None,
    samples: Sequence[Mapping[str, np.ndarray]] = (),
    options: Mapping[str, Any] | None = None,
    trust: bool = False,
    **fields: Any,
) -> Case:
    """Make a case of a model file, to be opened in the worker.

    Args:
        path: A model file, or a SavedModel folder.
        framework: Its framework, where the name does not say it.
        samples: Sets of inputs, by name; values are made up where there are none.
        options: Keyword arguments of the framework's loader.
        trust: Code inside the file may run.
        fields: Further fields of ``Case``.

    Raises:
        InvalidInput: There is no such file, or its framework is unknown.
    """
    found = framework_of_path(path, framework)
    return Case(
        id=f"{found.name}/file/{path.name}",
        framework=found.name,
        build=ModelFile(found.name, path.resolve(), trust, tuple(samples), dict(options or {})),
        **fields,
    )


def _inputs_and_options(
    framework: str, inputs: Inputs | None, options: dict[str, Any]
) -> tuple[Mapping[str, np.ndarray] | None, dict[str, Any]]:
    if inputs is None:
        return None, options
    if isinstance(inputs, Mapping):
        arrays = {name: np.asarray(array) for name, array in inputs.items()}
        return arrays, {**options_of_arrays(framework, arrays), **options}
    if framework != "torch":
        raise InvalidInput(
            f"inputs is a {type(inputs).__name__}.",
            hint="give a dict of numpy arrays by input name",
        )
    return None, {"input_info": list(inputs), **options}


def options_of_arrays(framework: str, arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Tell the loaders that compile for fixed shapes what the arrays say of them."""
    if framework == "torch":
        return {"input_info": [(name, a.shape, a.dtype.name) for name, a in arrays.items()]}
    if framework == "onnx":  # keeps its open dimensions symbolic
        return {}
    return {"shape_dict": {name: array.shape for name, array in arrays.items()}}
