"""Run a frozen TorchScript graph operator by operator in Python, for ``torch.export`` to trace.

TorchScript's own interpreter turns every size into a plain number, so that ``x.view(x.size(0),
-1)`` fixes a symbolic dimension. Here sizes stay symbolic. Branches and loops run as Python
ones: one whose condition is a tensor's value is refused by ``torch.export``. (The older ONNX
exporter keeps dimensions too, and writes ``//`` on integers as a division that truncates.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from forge.errors import UnsupportedOperator

_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "aten::add": operator.add,
    "aten::sub": operator.sub,
    "aten::mul": operator.mul,
    "aten::div": operator.truediv,
    "aten::floordiv": operator.floordiv,
    "aten::floor_divide": operator.floordiv,
    "aten::remainder": operator.mod,
    "aten::neg": operator.neg,
    "aten::pow": operator.pow,
    "aten::eq": operator.eq,
    "aten::ne": operator.ne,
    "aten::lt": operator.lt,
    "aten::le": operator.le,
    "aten::gt": operator.gt,
    "aten::ge": operator.ge,
    "prim::min": min,
    "prim::max": max,
}
_PYTHON: dict[str, Callable[..., Any]] = {
    "aten::size": lambda x, *dim: x.shape[dim[0]] if dim else list(x.shape),
    "aten::dim": lambda x: x.dim(),
    "aten::numel": lambda x: x.numel(),
    "aten::len": len,
    "aten::Int": lambda x: x if _is_number(x) else int(x),
    "aten::IntImplicit": lambda x: x if _is_number(x) else int(x),
    "aten::ScalarImplicit": lambda x: x if _is_number(x) else x.item(),
    "aten::Float": float,
    "aten::FloatImplicit": float,
    "aten::Bool": bool,
    "aten::__getitem__": lambda values, index: values[index],
    "aten::__is__": operator.is_,
    "aten::__isnot__": operator.is_not,
    "aten::__not__": operator.not_,
    "aten::__and__": lambda a, b: a and b,
    "aten::__or__": lambda a, b: a or b,
    "aten::append": lambda values, item: [values.append(item), values][1],
    "aten::list": list,
    "prim::NumToTensor": lambda x: x,
    "prim::ListConstruct": lambda *values: list(values),
    "prim::TupleConstruct": lambda *values: values,
    "prim::TupleIndex": lambda values, index: values[index],
    "prim::DictConstruct": lambda *pairs: dict(zip(pairs[::2], pairs[1::2], strict=True)),
    "prim::unchecked_cast": lambda x: x,
    "prim::unchecked_unwrap_optional": lambda x: x,
    "prim::Uninitialized": lambda: None,
    "prim::dtype": lambda x: x.dtype,
    "prim::device": lambda x: x.device,
    "prim::is_cuda": lambda _: False,
}
_CONTROL = frozenset(
    {
        "prim::Constant",
        "prim::GetAttr",
        "prim::If",
        "prim::Loop",
        "prim::ListUnpack",
        "prim::TupleUnpack",
        "prim::RaiseException",
    }
)
# They have an operator of the same name that takes tensors.
_ALSO_OPERATORS = frozenset({"aten::__and__", "aten::__or__"})


class Interpreted(torch.nn.Module):  # type: ignore[misc]
    """A frozen ScriptModule, run operator by operator.

    Raises:
        UnsupportedOperator: The graph holds nodes without a meaning here; all are named.
    """

    def __init__(self, script: Any) -> None:
        super().__init__()
        graph = script.inlined_graph
        unknown = sorted({node.kind() for node in _nodes(graph) if not _is_known(node)})
        if unknown:
            raise UnsupportedOperator(
                "TorchScript operators that cannot run over symbolic dimensions: "
                + ", ".join(unknown),
                unknown,
                hint="give all dimensions as ints",
            )
        self.__dict__["_graph"] = graph
        self.__dict__["_script"] = script
        self.__dict__["_numbers"] = {}
        self._keep_attributes(graph, script)

    def forward(self, *inputs: torch.Tensor) -> Any:
        graph = self.__dict__["_graph"]
        names = [value.debugName() for value in graph.inputs()]
        values: dict[str, Any] = dict(zip(names, (self.__dict__["_script"], *inputs), strict=False))
        results = self._run(graph, values)
        return results[0] if len(results) == 1 else tuple(results)

    def __deepcopy__(self, _memo: Any) -> Interpreted:
        return Interpreted(self.__dict__["_script"])

    def _keep_attributes(self, graph: Any, script: Any) -> None:
        """Register what freezing left as attributes: buffers that the model writes to."""
        for node in _nodes(graph):
            if node.kind() == "prim::GetAttr":
                value = getattr(script, node.s("name"), None)
                if isinstance(value, torch.Tensor) and node.s("name") not in self._buffers:
                    self.register_buffer(node.s("name"), value.detach().clone())
            elif node.kind() == "prim::Constant":
                value = node.output().toIValue()
                if isinstance(value, torch.Tensor) and value.dim() == 0:
                    self.__dict__["_numbers"][node.output().debugName()] = value.item()

    def _run(self, block: Any, values: dict[str, Any]) -> list[Any]:
        for node in block.nodes():
            results = self._run_node(node, values)
            for output, result in zip(node.outputs(), results, strict=True):
                values[output.debugName()] = result
        return [values[value.debugName()] for value in block.outputs()]

    def _run_node(self, node: Any, values: dict[str, Any]) -> list[Any]:
        kind = node.kind()
        if kind == "prim::Constant":
            return [_constant(node)]
        if kind == "prim::GetAttr":
            name = node.s("name")
            if name in self._buffers:
                return [self._buffers[name]]
            return [getattr(values[node.input().debugName()], name)]
        names = [value.debugName() for value in node.inputs()]
        inputs = [values[name] for name in names]
        if kind == "prim::If":
            taken = list(node.blocks())[0 if inputs[0] else 1]
            return self._run(taken, values)
        if kind == "prim::Loop":
            return self._loop(node, inputs, values)
        if kind in ("prim::ListUnpack", "prim::TupleUnpack"):
            return list(inputs[0])
        if kind == "prim::RaiseException":
            raise RuntimeError(f"the model raises: {inputs[0]}")
        numbers = [self.__dict__["_numbers"].get(n, v) for n, v in zip(names, inputs, strict=True)]
        result = _call(node, inputs, numbers)
        return [result] if node.outputsSize() == 1 else list(result or ())

    def _loop(self, node: Any, inputs: list[Any], values: dict[str, Any]) -> list[Any]:
        count, condition, carried = inputs[0], inputs[1], inputs[2:]
        (body,) = node.blocks()
        names = [value.debugName() for value in body.inputs()]
        turn = 0
        while condition and turn < count:
            values.update(zip(names, (turn, *carried), strict=True))
            condition, *carried = self._run(body, values)
            turn += 1
        return list(carried)


def has_state(script: Any) -> bool:
    """Tell whether a frozen ScriptModule kept attributes, as those are that it writes to."""
    return any(node.kind() == "prim::GetAttr" for node in _nodes(script.inlined_graph))


def _call(node: Any, inputs: list[Any], numbers: list[Any]) -> Any:
    kind = node.kind()
    if kind in _ARITHMETIC and any(_is_number(value) for value in numbers[:2]):
        # A number that tracing turned into a tensor must not take part in type promotion,
        # nor may sizes, which are numbers here, meet an operator that wants tensors.
        if kind in ("aten::add", "aten::sub") and numbers[2:] and numbers[2] != 1:
            return _ARITHMETIC[kind](numbers[0], numbers[1] * numbers[2])
        if not any(isinstance(value, str) for value in numbers[2:]):
            return _ARITHMETIC[kind](*numbers[:2])
    if kind in _PYTHON and not (kind in _ALSO_OPERATORS and _has_tensor(inputs)):
        return _PYTHON[kind](*inputs)
    if kind in ("aten::eq", "aten::ne", "aten::add") and not _has_tensor(inputs):
        return _ARITHMETIC[kind](*inputs[:2])
    target = _overload(node)
    schema = target._schema.arguments
    positional = [v for arg, v in zip(schema, inputs, strict=False) if not arg.kwarg_only]
    keywords = {a.name: v for a, v in zip(schema, inputs, strict=False) if a.kwarg_only}
    return target(*positional, **keywords)


def _overload(node: Any) -> Any:
    name = node.schema().partition("(")[0]
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), base), overload or "default")


def _is_known(node: Any) -> bool:
    kind = node.kind()
    if kind in _CONTROL or kind in _PYTHON or kind in _ARITHMETIC:
        return True
    if kind.startswith("prim::"):
        return False
    try:
        _overload(node)
    except (AttributeError, RuntimeError):
        return False
    return True


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _constant(node: Any) -> Any:
    return node.output().toIValue() if node.outputsSize() else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def _has_tensor(values: list[Any]) -> bool:
    return any(isinstance(value, torch.Tensor) for value in values)
