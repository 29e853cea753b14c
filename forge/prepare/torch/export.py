"""Turn a torch module into an ``ExportedProgram``, with errors that say whose fault it is."""

from __future__ import annotations

import copy
import inspect
import io
import logging
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import Any

import torch

from forge.errors import ForgeError, InvalidInput, LoadError
from forge.prepare.torch.inputs import dynamic_shapes, example_sizes, example_tensors, symbols
from forge.specs import Step, TensorSpec, describe

# They print the traceback, or the whole graph, of an error that is raised as well.
_LOUD = ("torch._subclasses.fake_tensor", "torch.fx.experimental", "torch.export")


@contextmanager
def quiet() -> Iterator[None]:
    """Run torch without gradients, and without its warnings, logs and printed graphs."""
    loggers = [logging.getLogger(name) for name in _LOUD]
    levels = [logger.level for logger in loggers]
    with warnings.catch_warnings(), torch.no_grad(), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


def eval_copy(module: torch.nn.Module) -> tuple[torch.nn.Module, list[Step]]:
    """Copy a module, on the CPU and in eval mode; the original is not changed.

    Raises:
        InvalidInput: It cannot be copied, or some weights are on the meta device.
    """
    module = getattr(module, "_orig_mod", module)  # what torch.compile wraps
    training = [name for name, part in module.named_modules() if part.training]
    meta = [name for name, tensor in module.named_parameters() if tensor.device.type == "meta"]
    if meta:
        raise InvalidInput(
            f"the weights {', '.join(meta[:3])} are on the meta device: they hold no values.",
            hint="load the weights before forge.from_torch",
        )
    try:
        with quiet():
            duplicate = copy.deepcopy(module).cpu().eval()
    except Exception as error:
        raise InvalidInput(
            f"the module cannot be copied: {type(error).__name__}: {error}",
            hint="export it with torch.export.export and give the ExportedProgram",
        ) from error
    if not training:
        return duplicate, []
    step = Step(
        "eval mode",
        "the module was in training mode; a copy of it is loaded in eval mode",
        count=len(training),
        details=tuple(name or "(the module itself)" for name in training),
    )
    return duplicate, [step]


def check_argument_count(module: torch.nn.Module, specs: Sequence[TensorSpec]) -> None:
    """Refuse inputs that ``forward`` does not take.

    Raises:
        InvalidInput: Too few or too many.
    """
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*specs)
    except TypeError as error:
        raise InvalidInput(
            f"the model's forward takes {signature}, input_info names {len(specs)} "
            f"input{'' if len(specs) == 1 else 's'} ({describe(specs)}): {error}.",
            hint="list one entry for each argument of forward, in its order",
        ) from error


def export_module(module: torch.nn.Module, specs: Sequence[TensorSpec]) -> tuple[Any, list[Step]]:
    """Export a module in eval mode.

    Returns:
        The ``ExportedProgram``, and steps to note.

    Raises:
        InvalidInput: The module itself fails on such inputs, or a dimension cannot stay symbolic.
        LoadError: ``torch.export`` cannot export it.
    """
    attempts = _working_sizes(module, specs) if symbols(specs) else iter([{}])
    failure: Exception | None = None
    for sizes in attempts:
        lowest: dict[str, int] | None = {}
        while lowest is not None:
            try:
                program = _export(module, specs, sizes, lowest)
            except Exception as error:
                failure = error
                lowest = _raised_minimum(error, lowest, sizes)
            else:
                return program, _bound_steps(lowest)
        if "your code specialized it to be a constant" in str(failure):
            break  # at any size
    if not symbols(specs):
        check_runs(module, specs)
    assert failure is not None
    raise _explained(failure, specs) from failure


def check_runs(module: torch.nn.Module, specs: Sequence[TensorSpec]) -> None:
    """Run a module on inputs of the given specs.

    Raises:
        InvalidInput: It fails, so that the inputs are at fault and not the loader.
    """
    next(_working_sizes(module, specs))


def _export(
    module: torch.nn.Module,
    specs: Sequence[TensorSpec],
    sizes: Mapping[str, int],
    lowest: Mapping[str, int],
) -> Any:
    shapes: Any = dynamic_shapes(specs, lowest)
    kinds = [p.kind for p in inspect.signature(module.forward).parameters.values()]
    if shapes is not None and inspect.Parameter.VAR_POSITIONAL in kinds:
        place = kinds.index(inspect.Parameter.VAR_POSITIONAL)
        shapes = (*shapes[:place], shapes[place:])
    with quiet():
        return torch.export.export(
            module, example_tensors(specs, sizes), dynamic_shapes=shapes, strict=False
        )


def _raised_minimum(
    error: Exception, lowest: Mapping[str, int], sizes: Mapping[str, int]
) -> dict[str, int] | None:
    """Raise the least sizes where ``torch.export`` says that small ones do not work.

    It proposes a bound for a kernel that must fit, none for a guard such as ``H // 2 != 1``.
    """
    text = str(error)
    violated = re.search(r"Constraints violated \(([^)]*)\)", text)
    if not violated or "Specializations unexpectedly required" in text:
        return None
    proposed = dict(re.findall(r"(\w+) = Dim\('\w+', min=(\d+)", text))
    raised = dict(lowest)
    for name in violated[1].split(", "):
        if name in sizes:
            raised[name] = int(proposed.get(name, 0)) or 2 * lowest.get(name, 1)
    too_high = any(least > sizes[name] for name, least in raised.items())
    return None if too_high or raised == dict(lowest) else raised


def _bound_steps(lowest: Mapping[str, int]) -> list[Step]:
    if not lowest:
        return []
    details = tuple(f"{name} >= {least}" for name, least in sorted(lowest.items()))
    reason = "the model works from these sizes on; compiled code does not check them"
    return [Step("symbolic bounds", reason, count=len(details), details=details)]


def _working_sizes(
    module: torch.nn.Module, specs: Sequence[TensorSpec]
) -> Iterator[dict[str, int]]:
    """Give the example sizes on which the module runs.

    Raises:
        InvalidInput: There are none.
    """
    failure: Exception | None = None
    works = False
    for sizes in example_sizes(specs):
        try:
            with quiet():
                copy.deepcopy(module)(*example_tensors(specs, sizes))
        except Exception as error:
            failure = failure or error
        else:
            works = True
            yield sizes
    if works:
        return
    raise InvalidInput(
        f"the model itself fails on inputs like ({describe(specs)}): "
        f"{type(failure).__name__}: {shortened(failure)}",
        hint="check shapes, dtypes and order in input_info",
    ) from failure


def _explained(error: Exception, specs: Sequence[TensorSpec]) -> ForgeError:
    text = str(error)
    names = ", ".join(symbols(specs))
    if "Constraints violated" in text or "ConstraintViolation" in type(error).__name__:
        return InvalidInput(
            f"not all of the dimensions {names} can stay symbolic: {shortened(error, 800)}",
            hint="give the dimension as an int, or the module without the code that fixes it",
        )
    if "data-dependent" in text or "GuardOnDataDependent" in text:
        return LoadError(
            "the model branches on, or takes a shape from, the values of a tensor: "
            f"{shortened(error)}",
            hint="use torch.where or torch.cond for the branch",
        )
    return LoadError(
        f"torch.export cannot export the model: {type(error).__name__}: {shortened(error)}",
        hint="the cause below is torch's own; torch.export.export(model, inputs) shows it alone",
    )


def shortened(error: BaseException | None, limit: int = 300) -> str:
    """Give an error's message on one line of bounded length."""
    text = " ".join(str(error).split())
    return text if len(text) <= limit else text[:limit] + " …"
