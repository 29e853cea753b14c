"""Call a program's symbolic dimensions as the caller does.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/exported_program_translator.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import tvm
from tvm import relax

from forge.errors import InvalidInput
from forge.prepare.torch.inputs import dtype_name
from forge.specs import Dim, TensorSpec, describe


def program_inputs(program: Any) -> tuple[TensorSpec, ...]:
    """Describe a program's own inputs; a symbolic dimension has torch's name, such as ``s77``.

    Raises:
        InvalidInput: An input is no tensor.
    """
    specs = []
    values = {
        node.name: node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"
    }
    for name in program.graph_signature.user_inputs:
        value = values.get(name) if isinstance(name, str) else name
        if not isinstance(value, torch.Tensor):
            raise InvalidInput(
                f"the input {name!r} of the ExportedProgram is no tensor but {value!r}.",
                hint="export the model with tensors as its only inputs",
            )
        dims: tuple[Dim, ...] = tuple(
            dim if isinstance(dim, int) else str(dim.node.expr) for dim in value.shape
        )
        specs.append(TensorSpec(name, dims, dtype_name(value.dtype, f"the input {name!r}")))
    return tuple(specs)


def match_inputs(own: Sequence[TensorSpec], given: Sequence[TensorSpec]) -> dict[str, str]:
    """Hold the caller's inputs against a program's own.

    Returns:
        The caller's name of each symbol of the program.

    Raises:
        InvalidInput: They disagree in number, dtype, rank or a dimension.
    """
    if len(own) != len(given):
        raise InvalidInput(
            f"the program has {len(own)} inputs ({describe(own)}), "
            f"input_info names {len(given)} ({describe(given)}).",
            hint="list one entry for each input of the program, in its order",
        )
    names: dict[str, str] = {}
    for mine, theirs in zip(own, given, strict=True):
        problem = _mismatch(mine, theirs, names)
        if problem:
            raise InvalidInput(
                f"input_info gives ({theirs}), the program was exported for ({mine}): {problem}.",
                hint="export it again with these shapes and dtypes, or give input_info=None",
            )
    return names


def _mismatch(own: TensorSpec, given: TensorSpec, names: dict[str, str]) -> str | None:
    if own.dtype != given.dtype:
        return f"dtype {given.dtype} is not {own.dtype}"
    if len(own.shape) != len(given.shape):
        return f"rank {len(given.shape)} is not {len(own.shape)}"
    for axis, (mine, theirs) in enumerate(zip(own.shape, given.shape, strict=True)):
        if isinstance(mine, int) or isinstance(theirs, int):
            if mine != theirs:
                return f"dimension {axis} is {theirs!r}, not {mine!r}"
        elif mine.isidentifier() and names.setdefault(mine, theirs) != theirs:
            return f"dimension {axis} is both {names[mine]!r} and {theirs!r}"
    taken = list(names.values())
    if len(taken) != len(set(taken)):
        return "one name stands for two dimensions that differ"
    return None


def rename_symbols(module: Any, names: Mapping[str, str]) -> Any:
    """Rename the symbolic dimensions of ``main``, in its types and its bounds."""
    names = {old: new for old, new in names.items() if old != new}
    if not names:
        return module
    variables = {old: tvm.tirx.Var(new, "int64") for old, new in names.items()}
    module = relax.transform.BindSymbolicVars(variables, "main")(module)
    main = module["main"]
    for key in ("tir_var_lower_bound", "tir_var_upper_bound"):
        bounds = main.attrs.get(key) if main.attrs else None
        if bounds is not None:
            renamed = {names.get(str(old), str(old)): value for old, value in bounds.items()}
            main = main.with_attr(key, renamed)
    module.update_func(module.get_global_var("main"), main)
    return module
