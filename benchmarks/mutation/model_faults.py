"""Faults in a framework's own model, as a wrong rewrite before TVM's frontend would make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Changed = tuple[Any, str]


def in_onnx(model: Any, seed: int) -> Changed:
    """Change an ``onnx.ModelProto`` in place; gives it and the kind of the fault.

    Raises:
        LookupError: No fault can be put into it.
    """
    generator = np.random.default_rng(seed)
    kinds: list[Callable[[Any, np.random.Generator], str]] = [
        _onnx_weight,
        _onnx_node_lost,
        _onnx_operands_swapped,
        _onnx_pads,
    ]
    for index in generator.permutation(len(kinds)):
        name = kinds[index](model, generator)
        if name:
            return model, name
    raise LookupError("no fault can be put into the ONNX model")


def _onnx_weight(model: Any, generator: np.random.Generator) -> str:
    from onnx import numpy_helper

    floats = [t for t in model.graph.initializer if t.data_type == 1 and np.prod(t.dims) > 1]
    if not floats:
        return ""
    tensor = floats[generator.integers(len(floats))]
    array = numpy_helper.to_array(tensor).copy()
    wrong = np.roll(array, 1)
    if np.array_equal(wrong, array):
        return ""
    tensor.CopyFrom(numpy_helper.from_array(wrong, tensor.name))
    return "weight-rolled"


def _onnx_node_lost(model: Any, generator: np.random.Generator) -> str:
    """An activation is taken for an Identity and removed."""
    lossy = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "PRelu", "Clip", "Erf", "Exp", "Softmax")
    outputs = {value.name for value in model.graph.output}
    nodes = [n for n in model.graph.node if n.op_type in lossy and n.output[0] not in outputs]
    if not nodes:
        return ""
    lost = nodes[generator.integers(len(nodes))]
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            if name == lost.output[0]:
                node.input[index] = lost.input[0]
    model.graph.node.remove(lost)
    return "activation-lost"


def _onnx_operands_swapped(model: Any, generator: np.random.Generator) -> str:
    nodes = [
        n for n in model.graph.node if n.op_type in ("Sub", "Div", "Pow") and len(n.input) == 2
    ]
    if not nodes:
        return ""
    node = nodes[generator.integers(len(nodes))]
    node.input[0], node.input[1] = node.input[1], node.input[0]
    return "operands-swapped"


def _onnx_pads(model: Any, generator: np.random.Generator) -> str:
    padded = []
    for node in model.graph.node:
        for attribute in node.attribute:
            half = len(attribute.ints) // 2
            if attribute.name == "pads" and half and attribute.ints[half] > 0:
                padded.append((attribute, half))
    if not padded:
        return ""
    attribute, half = padded[generator.integers(len(padded))]
    attribute.ints[0] += 1
    attribute.ints[half] -= 1
    return "pad-shifted"


def in_program(program: Any, seed: int) -> Changed:
    """Change a ``torch.export.ExportedProgram`` in place; gives it and the kind of the fault."""
    generator = np.random.default_rng(seed)
    kinds = [_torch_weight, _torch_activation, _torch_operands]
    for index in generator.permutation(len(kinds)):
        name = kinds[index](program, generator)
        if name:
            return program, name
    raise LookupError("no fault can be put into the program")


def _torch_weight(program: Any, generator: np.random.Generator) -> str:
    import torch

    held = [
        (holder, name)
        for holder in (program.state_dict, program.constants)
        for name, tensor in sorted(holder.items())
        if isinstance(tensor, torch.Tensor) and tensor.dtype == torch.float32 and tensor.numel() > 1
    ]
    if not held:
        return ""
    holder, name = held[generator.integers(len(held))]
    wrong = holder[name].detach().clone().roll(1)
    is_parameter = isinstance(holder[name], torch.nn.Parameter)
    holder[name] = torch.nn.Parameter(wrong, requires_grad=False) if is_parameter else wrong
    return "weight-rolled"


def _torch_activation(program: Any, generator: np.random.Generator) -> str:
    lossy = ("aten.relu", "aten.sigmoid", "aten.tanh", "aten.gelu", "aten.clamp", "aten.exp")
    nodes = [n for n in program.graph.nodes if str(n.target).startswith(lossy)]
    if not nodes:
        return ""
    node = nodes[generator.integers(len(nodes))]
    node.replace_all_uses_with(node.args[0], delete_user_cb=lambda user: user.op != "output")
    return "activation-lost" if not [u for u in node.users if u.op != "output"] else ""


def _torch_operands(program: Any, generator: np.random.Generator) -> str:
    ordered = ("aten.sub.Tensor", "aten.div.Tensor")
    nodes = [
        n
        for n in program.graph.nodes
        if str(n.target).startswith(ordered) and all(hasattr(a, "op") for a in n.args[:2])
    ]
    if not nodes:
        return ""
    node = nodes[generator.integers(len(nodes))]
    node.args = (node.args[1], node.args[0], *node.args[2:])
    return "operands-swapped"


def in_tflite(buffer: bytes, seed: int) -> Changed:
    """Change one weight tensor inside the bytes of a TFLite file."""
    import tflite

    generator = np.random.default_rng(seed)
    data = bytes(buffer)
    model = tflite.Model.GetRootAs(data, 0)
    graph = model.Subgraphs(0)
    found = []
    for index in range(graph.TensorsLength()):
        tensor = graph.Tensors(index)
        content = model.Buffers(tensor.Buffer()).DataAsNumpy()
        if tensor.Type() == tflite.TensorType.FLOAT32 and isinstance(content, np.ndarray):
            values = np.frombuffer(content.tobytes(), "float32")
            if values.size > 1 and not np.array_equal(np.roll(values, 1), values):
                found.append(values)
    if not found:
        raise LookupError("the TFLite file holds no float weights")
    values = found[generator.integers(len(found))]
    start = data.find(values.tobytes())
    wrong = np.roll(values, 1).tobytes()
    return data[:start] + wrong + data[start + len(wrong) :], "weight-rolled"
