"""TorchScript modules: frozen, checked for training mode, and hidden from ``torch.export``."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from forge.errors import InvalidInput, UnsupportedOperator
from forge.prepare.torch.export import quiet
from forge.specs import TensorSpec, describe

# Operators with an argument that says "training"; its place among the inputs.
_TRAINING_ARGUMENT = {
    "aten::batch_norm": 5,
    "aten::dropout": 2,
    "aten::dropout_": 2,
    "aten::feature_dropout": 2,
    "aten::feature_dropout_": 2,
    "aten::alpha_dropout": 2,
    "aten::alpha_dropout_": 2,
    "aten::feature_alpha_dropout": 2,
    "aten::native_dropout": 2,
    "aten::rrelu": 3,
}


class Hidden(torch.nn.Module):  # type: ignore[misc]
    """Call a ScriptModule that ``torch.export`` must not see.

    Registered as a submodule it would be refused; kept in ``__dict__`` its operators are
    traced, and its weights become constants.
    """

    def __init__(self, script: Any) -> None:
        super().__init__()
        self.__dict__["script"] = script

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.__dict__["script"](*inputs)


def frozen_copy(script: Any) -> Any:
    """Freeze a copy of a ScriptModule in eval mode; batch norms stay for Forge to fold.

    Raises:
        InvalidInput: torch cannot freeze it.
        UnsupportedOperator: Training mode is baked into it.
    """
    stream = io.BytesIO()
    try:
        with quiet():
            torch.jit.save(script, stream)
            stream.seek(0)
            frozen = torch.jit.load(stream, map_location="cpu")
            if hasattr(frozen, "training"):
                frozen = torch.jit.freeze(frozen.eval(), optimize_numerics=False)
    except (RuntimeError, AttributeError) as error:
        raise InvalidInput(
            f"torch cannot freeze the ScriptModule: {error}",
            hint="trace or script the module in eval mode",
        ) from error
    refuse_training(script, frozen)
    return frozen


def refuse_training(script: Any, frozen: Any) -> None:
    """Refuse a module in which training mode is baked in.

    Args:
        script: As the caller gave it; its submodules name the layers.
        frozen: The same after freezing in eval mode, where a training argument that is still
            true cannot be changed any more.

    Raises:
        UnsupportedOperator: Names every operator and layer.
    """
    found = [kind for kind, _ in _trained(frozen.inlined_graph)]
    if not found:
        return
    places = []
    for path, module in script.named_modules():
        if hasattr(module, "graph"):
            places += [(kind, f"layer {path!r}") for kind, _ in _trained(module.graph)]
    if not places:
        places = [(kind, where) for kind, where in _trained(frozen.inlined_graph)]
    lines = [f"{kind} in {where}" for kind, where in places]
    raise UnsupportedOperator(
        "the TorchScript module has training mode baked in:\n    " + "\n    ".join(lines),
        found,
        hint="call .eval() on the module before torch.jit.trace or torch.jit.script",
    )


def _trained(graph: Any) -> Iterator[tuple[str, str]]:
    for node in _nodes(graph):
        place = _TRAINING_ARGUMENT.get(node.kind())
        inputs = list(node.inputs())
        if place is None or len(inputs) <= place or inputs[place].toIValue() is not True:
            continue
        if node.kind() == "aten::batch_norm" and _is_none(inputs[3]) and _is_none(inputs[4]):
            # Without running statistics eval mode uses those of the batch as well.
            continue
        yield node.kind(), (node.sourceRange().strip().splitlines() or ["?"])[0]


def check_script_arguments(script: Any, specs: Sequence[TensorSpec]) -> None:
    """Refuse inputs that the module's ``forward`` does not take.

    Raises:
        InvalidInput: Too few or too many, or it has no ``forward``.
    """
    if not hasattr(script, "forward"):
        raise InvalidInput("the ScriptModule has no forward method.")
    arguments = script.forward.schema.arguments[1:]  # the first is the module itself
    required = sum(1 for arg in arguments if not arg.has_default_value())
    if not required <= len(specs) <= len(arguments):
        takes = ", ".join(arg.name for arg in arguments)
        raise InvalidInput(
            f"the model's forward takes ({takes}), {required} of them required; "
            f"input_info names {len(specs)} ({describe(specs)}).",
            hint="list one entry for each argument of forward, in its order",
        )


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _is_none(value: Any) -> bool:
    return value.type().kind() == "NoneType" or bool(value.node().mustBeNone())
