"""Run a PyTorch model in float64, whatever dtypes its code names."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map, tree_unflatten

from forge import RunError
from forge.prepare.torch.outputs import flatten_outputs
from validation.references.arbiters.widening import is_floating
from validation.references.protocol import Arrays, Session

_WIDER = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}


class _Widening(TorchDispatchMode):  # type: ignore[misc]
    """Runs every operator on float64.

    It takes the place of ``x.float()`` and ``dtype=torch.float32`` in the model's code, of
    tensors that are neither parameters nor buffers, and of the constants in a TorchScript graph,
    none of which ``Module.double`` reaches.
    """

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = (args, kwargs or {})
        _check_writes(function, *given)
        args, kwargs = tree_map(_widen, given)
        result = function(*args, **kwargs)
        for leaf in tree_leaves(result):
            if isinstance(leaf, torch.Tensor) and (
                leaf.dtype in _WIDER
                or (leaf.dtype.is_floating_point and leaf.dtype != torch.float64)
            ):
                raise RunError(f"{function} gave {leaf.dtype}: this would be no float64 run.")
        return result


def _widen(value: Any) -> Any:
    if isinstance(value, torch.dtype):
        return _WIDER.get(value, value)
    if isinstance(value, torch.Tensor) and value.dtype in _WIDER:
        return value.to(_WIDER[value.dtype])
    return value


def _check_writes(function: Any, args: Any, kwargs: Any) -> None:
    """Refuse an operator that writes into a narrow tensor: it would write into a copy."""
    schema = getattr(function, "_schema", None)
    for position, argument in enumerate(schema.arguments if schema else ()):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = args[position] if position < len(args) else kwargs.get(argument.name)
        if any(
            isinstance(leaf, torch.Tensor) and leaf.dtype in _WIDER for leaf in tree_leaves(value)
        ):
            raise RunError(f"{function} writes into a tensor that is not float64.")


def float64_session(model: Any, names: list[str]) -> Session:
    """Make a session of a float64 copy of a model in eval mode.

    Args:
        model: An ``nn.Module``, a ``ScriptModule``, a ``GraphModule`` or an ``ExportedProgram``.
        names: The inputs, in the order of ``forward``'s arguments.
    """
    call = _double_copy(model)

    def run(inputs: Mapping[str, np.ndarray]) -> Arrays:
        tensors = [_tensor(inputs[name]) for name in names]
        with torch.no_grad(), _default_dtype(torch.float64), _Widening():
            result = call(*tensors)
        return {name: np.array(value.numpy()) for name, value in _detached(result)}

    return run


def _double_copy(model: Any) -> Any:
    if isinstance(model, torch.export.ExportedProgram):
        # The module shares its parameters with the program.
        module = _doubled(copy.deepcopy(model.module()))
        structure = model.call_spec.in_spec

        def call(*tensors: Any) -> Any:
            arguments, keywords = tree_unflatten(list(tensors), structure)
            return module(*arguments, **keywords)

        return call
    duplicate = copy.deepcopy(getattr(model, "_orig_mod", model))
    return _doubled(duplicate.eval()) if hasattr(duplicate, "training") else duplicate


def _doubled(module: Any) -> Any:
    """Widen a module of our own: parameters, buffers, and tensors that are plain attributes.

    Of the latter a model may write into a view, which is then lost if only the view is widened.
    """
    for each in module.modules():
        for name, value in list(vars(each).items()):
            if isinstance(value, torch.Tensor):
                setattr(each, name, _widen(value))
    return module.double()


@contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _tensor(array: np.ndarray) -> torch.Tensor:
    array = np.asarray(array)
    return torch.from_numpy(np.array(array, np.float64 if is_floating(array.dtype) else None))


def _detached(result: Any) -> list[tuple[str, torch.Tensor]]:
    return [(name, value.detach().cpu().contiguous()) for name, value in flatten_outputs(result)]
