"""Mend an exported program's border: weights of its own, and no ``None`` among its outputs.

TVM 0.27 shares torch's memory and makes a ``None`` output a null object, where older versions
crashed.

See https://github.com/apache/tvm/issues/18359.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import torch

from forge.errors import InvalidInput, LoadError
from forge.prepare.torch.outputs import flatten_outputs
from forge.specs import Step


def output_names(program: Any) -> list[str]:
    """Name the user's outputs from the structure of the result; see ``flatten_outputs``.

    Raises:
        LoadError: An output is no tensor.
    """
    from torch.export.graph_signature import ConstantArgument, TensorArgument

    specs = _user_outputs(program)
    stand_ins: list[Any] = []
    for index, spec in enumerate(specs):
        if isinstance(spec.arg, TensorArgument):
            stand_ins.append(torch.empty(0))
        elif isinstance(spec.arg, ConstantArgument) and spec.arg.value is None:
            stand_ins.append(None)
        else:
            value = getattr(spec.arg, "value", spec.arg)
            raise LoadError(
                f"output {index} of the model is no tensor but {value!r}.",
                hint="return tensors only, for example torch.tensor(value)",
            )
    structure = program.call_spec.out_spec
    result = torch.utils._pytree.tree_unflatten(stand_ins, structure)
    return [name for name, _ in flatten_outputs(result)]


def drop_none_outputs(program: Any) -> Step | None:
    """Take ``None`` out of the outputs, in place; TVM's module crashes on them (18359, 18363)."""
    from torch.export.graph_signature import ConstantArgument

    graph = program.graph_module.graph
    (output,) = graph.find_nodes(op="output")
    specs = program.graph_signature.output_specs
    values = list(output.args[0])
    kept = [
        index
        for index, spec in enumerate(specs)
        if not (isinstance(spec.arg, ConstantArgument) and spec.arg.value is None)
    ]
    if len(kept) == len(specs):
        return None
    count = len(specs) - len(kept)
    output.args = (tuple(values[index] for index in kept),)
    specs[:] = [specs[index] for index in kept]
    return Step("none outputs", "an output that is None has no value to compute", count=count)


def own_weights(program: Any) -> None:
    """Replace all weights of a program by contiguous copies, in place.

    TVM's frontend shares torch's memory, so that changing a parameter afterwards would
    change the compiled module. Tied weights stay tied.

    Raises:
        InvalidInput: A weight is sparse, complex, quantised, or on the meta device.
    """
    copies: dict[tuple[Any, ...], torch.Tensor] = {}
    for tensors in (program.state_dict, program.constants):
        _copy_values(tensors, copies)


def _copy_values(
    tensors: MutableMapping[str, Any], copies: dict[tuple[Any, ...], torch.Tensor]
) -> None:
    from forge.prepare.torch.inputs import dtype_name

    for name, tensor in list(tensors.items()):
        if not isinstance(tensor, torch.Tensor):
            continue
        if tensor.layout != torch.strided or tensor.device.type == "meta":
            kind = "sparse" if tensor.layout != torch.strided else "on the meta device"
            raise InvalidInput(f"the weight {name!r} is {kind}.", hint="make it a dense CPU tensor")
        dtype_name(tensor.dtype, f"the weight {name!r}")
        plain = tensor.detach()
        key = (plain.data_ptr(), plain.dtype, plain.shape, plain.stride())
        if key not in copies or plain.numel() == 0:
            copies[key] = plain.cpu().clone(memory_format=torch.contiguous_format)
        tensors[name] = (
            torch.nn.Parameter(copies[key], requires_grad=False)
            if isinstance(tensor, torch.nn.Parameter)
            else copies[key]
        )


def mutation_step(program: Any) -> Step | None:
    """Note buffers or inputs that the model writes to: a compiled call leaves them alone."""
    from torch.export.graph_signature import OutputKind

    mutated = [
        str(spec.target)
        for spec in program.graph_signature.output_specs
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION)
    ]
    if not mutated:
        return None
    return Step(
        "mutated state",
        "the model writes to buffers or inputs; a compiled call starts from the loaded state "
        "each time and leaves its arguments as they are",
        count=len(mutated),
        details=tuple(mutated),
    )


def _user_outputs(program: Any) -> list[Any]:
    from torch.export.graph_signature import OutputKind

    return [
        spec
        for spec in program.graph_signature.output_specs
        if spec.kind in (OutputKind.USER_OUTPUT, OutputKind.LOSS_OUTPUT)
    ]
