"""PyTorch models, with eager torch as the reference."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import forge
from forge import InvalidInput, IRModule, TensorSpec
from forge.frameworks import is_instance_of, require
from validation.references.protocol import Arrays, Session
from validation.untrusted import limits

_SCRIPT, _PROGRAM, _PICKLE = "model.ts", "model.pt2", "model.pkl"


class TorchFramework:
    """See ``validation.references.protocol.Framework``."""

    name = "torch"
    packages: tuple[str, ...] = ("torch",)
    suffixes: tuple[str, ...] = (".pt", ".pth", ".ts", ".pt2")

    def recognises(self, model: object) -> bool:
        return is_instance_of(model, "torch", "Module", "ExportedProgram")

    def open(self, path: Path, *, trust: bool) -> Any:
        from validation.references.torch_files import open_torch_file

        if not trust:
            limits.confine()
        return open_torch_file(path, trust)

    def store(self, model: Any, folder: Path, options: Mapping[str, Any]) -> None:
        torch = require("torch", "checking a PyTorch model")
        if isinstance(model, torch.jit.ScriptModule):
            torch.jit.save(model, str(folder / _SCRIPT))
        elif isinstance(model, torch.export.ExportedProgram):
            torch.export.save(model, str(folder / _PROGRAM))
        else:
            cloudpickle = require("cloudpickle", "sending a PyTorch module to a worker")
            try:
                content = cloudpickle.dumps(model)
            except Exception as error:
                raise InvalidInput(
                    f"the module cannot be pickled: {type(error).__name__}: {error}",
                    hint="give a function that builds it, or torch.export.export it first",
                ) from error
            (folder / _PICKLE).write_bytes(content)

    def restore(self, folder: Path) -> Any:
        torch = require("torch", "checking a PyTorch model")
        if (folder / _SCRIPT).exists():
            return torch.jit.load(str(folder / _SCRIPT))
        if (folder / _PROGRAM).exists():
            return torch.export.load(str(folder / _PROGRAM))
        cloudpickle = require("cloudpickle", "receiving a PyTorch module")
        return cloudpickle.loads((folder / _PICKLE).read_bytes())

    def inputs(self, model: Any, options: Mapping[str, Any]) -> tuple[TensorSpec, ...]:
        torch = require("torch", "checking a PyTorch model")
        from forge.prepare.torch.inputs import HINT, parse_input_info
        from forge.prepare.torch.symbolic_names import program_inputs

        if options.get("input_info") is not None:
            return parse_input_info(options["input_info"])
        if isinstance(model, torch.export.ExportedProgram):
            return program_inputs(model)
        raise InvalidInput(
            "a PyTorch model does not say what shapes its inputs have.",
            hint=f"{HINT}; on the command line --input NAME=1x3x224x224",
        )

    def session(self, model: Any, options: Mapping[str, Any], threads: int) -> Session:
        torch = require("torch", "the PyTorch reference")
        from forge.prepare.torch.outputs import flatten_outputs

        names = [spec.name for spec in self.inputs(model, options)]
        call = _callable(torch, model)
        torch.set_num_threads(threads)

        def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
            # A model may write to its inputs; the caller's arrays stay as they are.
            tensors = [_tensor(torch, inputs[name]) for name in names]
            with torch.no_grad():
                result = call(*tensors)
            return {name: _array(torch, value) for name, value in flatten_outputs(result)}

        return run

    def load(self, model: Any, options: Mapping[str, Any]) -> IRModule:
        return forge.from_torch(model, **options)


def _callable(torch: Any, model: Any) -> Any:
    """Give a function of the flat inputs that runs an eval copy of the user's own model."""
    if not isinstance(model, torch.export.ExportedProgram):
        duplicate = copy.deepcopy(getattr(model, "_orig_mod", model))
        return duplicate.eval() if hasattr(duplicate, "training") else duplicate
    module = model.module()
    structure = model.call_spec.in_spec

    def call(*tensors: Any) -> Any:
        arguments, keywords = torch.utils._pytree.tree_unflatten(list(tensors), structure)
        return module(*arguments, **keywords)

    return call


def _tensor(torch: Any, array: np.ndarray) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def _array(torch: Any, value: Any) -> np.ndarray:
    tensor = value.detach().cpu().contiguous()
    if tensor.dtype == torch.bfloat16:
        import ml_dtypes

        return np.array(tensor.view(torch.int16).numpy()).view(ml_dtypes.bfloat16)
    return np.array(tensor.numpy())
