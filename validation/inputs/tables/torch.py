"""Tables of a PyTorch model: what its embeddings take rows from."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from forge.frameworks import require
from forge.specs import TensorSpec
from validation.inputs.tables.walk import reached, smallest

# A forward pass each.
_INPUTS = 8
_PASSED_ON = frozenset(
    "_to_copy alias clone contiguous detach expand flatten reshape select slice squeeze t to "
    "transpose type type_as unsqueeze view permute long int".split()
)


def table_sizes(model: Any, options: Mapping[str, Any]) -> dict[str, int]:
    """See ``validation.inputs.tables``."""
    torch = require("torch", "reading a PyTorch model")
    from forge.prepare.torch.inputs import parse_input_info
    from forge.prepare.torch.symbolic_names import program_inputs

    info = options.get("input_info")
    if isinstance(model, torch.export.ExportedProgram):
        specs = parse_input_info(info) if info is not None else program_inputs(model)
        return smallest(_of_program(model, specs))
    specs = parse_input_info(info)
    if not _integers(specs):
        return {}
    if isinstance(model, torch.jit.ScriptModule):
        return smallest(_of_script(model, specs))
    return _of_module(torch, model, specs)


def _integers(specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    return [spec for spec in specs if spec.dtype.startswith(("int", "uint"))]


def _of_module(torch: Any, model: Any, specs: Sequence[TensorSpec]) -> dict[str, int]:
    """Watch which embeddings are indexed otherwise when an input is one instead of zero.

    Where the module cannot be run so, the smallest embedding is taken for all integer inputs.
    """
    original = getattr(model, "_orig_mod", model)
    sizes = {
        name: int(module.num_embeddings)
        for name, module in original.named_modules()
        if isinstance(module, torch.nn.Embedding | torch.nn.EmbeddingBag)
    }
    if not sizes:
        return {}
    try:
        return smallest(_watched(torch, copy.deepcopy(original).eval(), specs, sizes))
    except Exception:
        return {spec.name: min(sizes.values()) for spec in _integers(specs)}


def _watched(
    torch: Any, model: Any, specs: Sequence[TensorSpec], sizes: Mapping[str, int]
) -> Iterator[tuple[str, int]]:
    from forge.prepare.torch.inputs import example_sizes, example_tensors

    seen: dict[str, list[Any]] = {}
    for name, module in model.named_modules():
        if name in sizes:
            watch = lambda _, given, name=name: seen.setdefault(name, []).append(given[0].clone())  # noqa: E731
            module.register_forward_pre_hook(watch)

    def indices(tensors: Sequence[Any]) -> dict[str, list[Any]]:
        seen.clear()
        with torch.no_grad():
            model(*(tensor.clone() for tensor in tensors))
        return dict(seen)

    # Zeros of every integer dtype, which any table has a row for.
    zeros = example_tensors(specs, example_sizes(specs)[0])
    first = indices(zeros)
    for spec in _integers(specs)[:_INPUTS]:
        place = specs.index(spec)
        ones = [torch.ones_like(t) if i == place else t for i, t in enumerate(zeros)]
        for name, tensors in indices(ones).items():
            before = first.get(name, [])
            same = len(before) == len(tensors) and all(map(torch.equal, before, tensors))
            if not same:
                yield spec.name, sizes[name]


def _of_program(program: Any, specs: Sequence[TensorSpec]) -> Iterator[tuple[str, int]]:
    nodes = {node.name: node for node in program.graph.nodes}
    names = dict(zip(program.graph_signature.user_inputs, (spec.name for spec in specs)))

    def parents(name: str) -> Sequence[str]:
        node = nodes[name]
        if node.op != "call_function" or _operator(node.target) not in _PASSED_ON:
            return ()
        return [node.args[0].name] if node.args and hasattr(node.args[0], "name") else ()

    for node in program.graph.nodes:
        if node.op == "call_function" and _operator(node.target) == "embedding":
            rows = int(node.args[0].meta["val"].shape[0])
            indices = reached(node.args[1].name, parents)
            yield from ((names[name], rows) for name in indices if name in names)


def _operator(target: Any) -> str:
    """Give ``embedding`` for ``aten.embedding.default``."""
    return str(target).removeprefix("aten.").partition(".")[0]


def _of_script(script: Any, specs: Sequence[TensorSpec]) -> Iterator[tuple[str, int]]:
    graph = script.inlined_graph
    owner, *values = graph.inputs()
    names = {value.debugName(): spec.name for value, spec in zip(values, specs)}

    def attribute(value: Any) -> Any:
        """Give the object that a chain of attributes leads to."""
        if value.debugName() == owner.debugName():
            return script
        node = value.node()
        if node.kind() != "prim::GetAttr":
            return None
        return getattr(attribute(next(node.inputs())), node.s("name"), None)

    def parents(name: str) -> Sequence[str]:
        node = producers.get(name)
        if node is None or node.kind().partition("::")[2] not in _PASSED_ON:
            return ()
        return [next(node.inputs()).debugName()]

    found = list(_nodes(graph))
    producers = {value.debugName(): node for node in found for value in node.outputs()}
    for node in found:
        if node.kind() == "aten::embedding":
            weight, index, *_ = node.inputs()
            rows = int(attribute(weight).shape[0])
            indices = reached(index.debugName(), parents)
            yield from ((names[name], rows) for name in indices if name in names)


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)
