"""Where a fault gets into the way of a model: each stage has a seam, patched in a worker alone.

The patches are never undone: a worker is a child process that ends with its cell.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.mutation import model_faults, output_faults
from benchmarks.mutation.relax_faults import Site, mutate, sites
from forge.ir import IRModule

# Registers its kinds.
importlib.import_module("benchmarks.mutation.attribute_faults")

SEAMS = ("prepare", "loader", "fold", "compile", "reference")


class Fault:
    """One seeded fault: the place in a module is found when the first module comes by.

    Args:
        seam: One of ``SEAMS``.
        seed: Chooses kind and place.
    """

    def __init__(self, seam: str, seed: int) -> None:
        self.seam, self.seed = seam, seed
        self.kind = ""
        self._site: Site | None = None

    def module(self, module: Any) -> Any:
        """Put the fault into a Relax module."""
        if self._site is None:
            generator = np.random.default_rng(self.seed)
            found = sorted(sites(module, self.seed))
            if not found:
                raise LookupError("no fault can be put into the module")
            kinds = sorted({site.kind for site in found})
            self.kind = kinds[generator.integers(len(kinds))]
            places = [site for site in found if site.kind == self.kind]
            self._site = places[generator.integers(len(places))]
        return mutate(module, self._site, self.seed)

    def model(self, change: Callable[[Any, int], tuple[Any, str]], model: Any) -> Any:
        """Put the fault into a framework's own model."""
        changed, self.kind = change(model, self.seed)
        return changed


def plant(fault: Fault) -> None:
    """Patch the seam of a fault, in this process and for good."""
    {
        "prepare": lambda: _plant_prepare(fault),
        "loader": lambda: _plant_loader(fault),
        "fold": lambda: _plant_fold(fault),
        "compile": lambda: _plant_compile(fault),
        "reference": lambda: _plant_reference(fault),
    }[fault.seam]()


def _plant_prepare(fault: Fault) -> None:
    onnx = importlib.import_module("forge.loaders.onnx")
    right = onnx._prepare

    def prepare(*arguments: Any) -> Any:
        model, steps = right(*arguments)
        return (fault.model(model_faults.in_onnx, model) if arguments[-1] else model), steps

    onnx._prepare = prepare
    torch = importlib.import_module("forge.prepare.torch.decompositions")
    decompose = torch.decompose

    def decomposed(program: Any) -> Any:
        program, step = decompose(program)
        return fault.model(model_faults.in_program, program), step

    torch.decompose = decomposed
    names = importlib.import_module("forge.prepare.tflite.unique_tensor_names")
    unique = names.unique_tensor_names

    def unique_tensor_names(buffer: bytes) -> Any:
        buffer, step = unique(buffer)
        return fault.model(model_faults.in_tflite, buffer), step

    names.unique_tensor_names = unique_tensor_names


def _plant_loader(fault: Fault) -> None:
    for name in ("onnx", "torch", "tflite"):
        loader = importlib.import_module(f"forge.loaders.{name}")
        loader.finish = _after(fault, loader.finish)


def _after(fault: Fault, finish: Callable[..., Any]) -> Callable[..., Any]:
    return lambda module, **named: finish(fault.module(module), **named)


def _plant_fold(fault: Fault) -> None:
    passes = importlib.import_module("forge.passes")
    right = passes.run_passes

    def run_passes(module: Any, names: Any) -> Any:
        module, steps = right(module, names)
        return (fault.module(module) if names else module), steps

    passes.run_passes = run_passes


def _plant_compile(fault: Fault) -> None:
    compiler = importlib.import_module("forge.compile")
    right = compiler.compile_module

    def compile_module(ir: IRModule, *arguments: Any) -> Any:
        wrong = IRModule(fault.module(ir.module), ir.inputs, ir.outputs, ir.history, ir.unfolded)
        return right(wrong, *arguments)

    compiler.compile_module = compile_module


def _plant_reference(fault: Fault) -> None:
    """Let the native runtime be wrong; arbiters make sessions of their own, which are not."""
    fault.kind = kind_of_outputs(fault.seed)
    trial = importlib.import_module("validation.trial").Trial
    right = trial.native_session

    def native_session(self: Any) -> Any:
        run = right(self)

        def wrong(inputs: Mapping[str, np.ndarray]) -> Any:
            return output_faults.in_outputs(run(inputs), fault.kind)

        return wrong

    trial.native_session = native_session


def kind_of_outputs(seed: int) -> str:
    """Choose the kind of a fault in a native runtime."""
    names = sorted(output_faults.KINDS)
    return names[seed % len(names)]


def with_inputs(sample: Any, inputs: Mapping[str, np.ndarray], extra: Any = ()) -> Any:
    """Copy a sample with other inputs."""
    return replace(sample, inputs=inputs, extra_inputs=tuple(extra))
