"""ONNX graphs written node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from model_zoo import data
from model_zoo.entry import Sample
from model_zoo.registry import register

Border = tuple[str, str, Sequence[int | str]]


class _Graph:
    """Collect nodes and weights, then make a checked ``ModelProto``."""

    def __init__(self, seed: int) -> None:
        self.random = data.generator(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def add(self, op: str, *inputs: str, outputs: Sequence[str] = (), **attributes: Any) -> str:
        """Append a node and name its first output."""
        from onnx import helper

        names = list(outputs) or [f"{op.lower()}_{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0]

    def constant(self, values: Any, dtype: str = "float32") -> str:
        """Append an initializer."""
        from onnx import numpy_helper

        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def weight(self, *shape: int, fan_in: int) -> str:
        """Append a Kaiming-normal weight."""
        return self.constant(self.random.normal(0.0, np.sqrt(2.0 / fan_in), shape))

    def uniform(self, low: float, high: float, *shape: int) -> str:
        """Append a uniform weight, such as a bias or a variance."""
        return self.constant(self.random.uniform(low, high, shape))

    def norm(self, value: str, channels: int) -> str:
        """Append a batch norm with random statistics."""
        scale, shift = self.uniform(0.5, 1.5, channels), self.uniform(-0.5, 0.5, channels)
        mean, variance = self.uniform(-1.0, 1.0, channels), self.uniform(0.5, 2.0, channels)
        return self.add("BatchNormalization", value, scale, shift, mean, variance, epsilon=1e-3)

    def model(self, inputs: Sequence[Border], outputs: Sequence[Border], opset: int) -> Any:
        """Make the model; borders are (name, dtype, shape)."""
        import onnx
        from onnx import helper

        def border(name: str, dtype: str, shape: Sequence[int | str]) -> Any:
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
            return helper.make_tensor_value_info(name, kind, shape)

        graph = helper.make_graph(
            self.nodes,
            "zoo",
            [border(*item) for item in inputs],
            [border(*item) for item in outputs],
            self.weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        onnx.checker.check_model(model, full_check=True)
        return model


@register("onnx/dense/gemm", "Gemm with transB, alpha and beta; softmax", tags=("built",))
def _gemm() -> Sample:
    graph = _Graph(101)
    hidden = graph.add(
        "Gemm", "x", graph.weight(32, 20, fan_in=20), graph.uniform(-0.5, 0.5, 32),
        transB=1, alpha=0.75, beta=1.5,
    )  # fmt: skip
    hidden = graph.add("LeakyRelu", hidden, alpha=0.1)
    logits = graph.add("Gemm", hidden, graph.weight(32, 6, fan_in=32), graph.uniform(-0.5, 0.5, 6))
    graph.add("Softmax", logits, outputs=["probabilities"], axis=-1)
    model = graph.model(
        [("x", "float32", (3, 20))], [("probabilities", "float32", (3, 6))], opset=13
    )
    return Sample(model, {"x": data.generator(1).normal(size=(3, 20)).astype(np.float32)})


@register("onnx/conv-stack/pooled", "Conv, batch norm and pools on odd sizes", tags=("built",))
def _conv_stack() -> Sample:
    graph = _Graph(102)
    value = graph.add(
        "Conv", "image", graph.weight(8, 3, 3, 3, fan_in=27), graph.uniform(-0.5, 0.5, 8),
        pads=[1, 0, 1, 2], strides=[2, 1],
    )  # fmt: skip
    value = graph.add("Relu", graph.norm(value, 8))
    value = graph.add("MaxPool", value, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 1, 1, 0])
    value = graph.add("Conv", value, graph.weight(8, 1, 3, 3, fan_in=9), group=8, dilations=[2, 2])
    value = graph.add("HardSigmoid", graph.norm(value, 8), alpha=0.3, beta=0.4)
    value = graph.add("AveragePool", value, kernel_shape=[2, 2], strides=[1, 2])
    value = graph.add("Conv", value, graph.weight(5, 8, 1, 1, fan_in=8))
    pooled = graph.add("GlobalAveragePool", value)
    graph.add("Flatten", pooled, outputs=["features"])
    model = graph.model(
        [("image", "float32", (2, 3, 37, 29))], [("features", "float32", (2, 5))], opset=17
    )
    return Sample(model, {"image": data.images(2, 2, 3, 37, 29)})


@register(
    "onnx/transformer/encoder-block",
    "Token ids looked up, self-attention in primitive operators, GELU by Erf",
    tags=("built", "attention"),
)
def _encoder_block() -> Sample:
    width, heads, steps, vocabulary = 32, 4, 10, 60
    graph = _Graph(103)
    table = graph.constant(graph.random.normal(size=(vocabulary, width)))
    hidden = graph.add("Gather", table, "ids")
    hidden = graph.add("Add", hidden, graph.uniform(-1.0, 1.0, steps, width))

    def dense(value: str, wide: int, wider: int) -> str:
        product = graph.add("MatMul", value, graph.weight(wide, wider, fan_in=wide))
        return graph.add("Add", product, graph.uniform(-0.5, 0.5, wider))

    def normed(value: str) -> str:
        scale, shift = graph.uniform(0.5, 1.5, width), graph.uniform(-0.5, 0.5, width)
        return graph.add("LayerNormalization", value, scale, shift, axis=-1, epsilon=1e-6)

    def split(value: str, order: Sequence[int]) -> str:
        shape = graph.constant([0, 0, heads, -1], "int64")
        return graph.add("Transpose", graph.add("Reshape", value, shape), perm=order)

    before = normed(hidden)
    query = split(dense(before, width, width), (0, 2, 1, 3))
    key = split(dense(before, width, width), (0, 2, 3, 1))
    value = split(dense(before, width, width), (0, 2, 1, 3))
    scores = graph.add("MatMul", query, key)
    scores = graph.add("Div", scores, graph.constant(np.sqrt(width / heads)))
    weights = graph.add("Softmax", scores, axis=-1)
    mixed = graph.add("Transpose", graph.add("MatMul", weights, value), perm=[0, 2, 1, 3])
    mixed = graph.add("Reshape", mixed, graph.constant([0, 0, -1], "int64"))
    hidden = graph.add("Add", hidden, dense(mixed, width, width))

    wide = dense(normed(hidden), width, 2 * width)
    erf = graph.add("Erf", graph.add("Div", wide, graph.constant(np.sqrt(2.0))))
    gate = graph.add("Add", erf, graph.constant(1.0))
    gelu = graph.add("Mul", graph.add("Mul", wide, gate), graph.constant(0.5))
    graph.add("Add", hidden, dense(gelu, 2 * width, width), outputs=["encoded"])
    model = graph.model(
        [("ids", "int64", (2, steps))], [("encoded", "float32", (2, steps, width))], opset=17
    )
    return Sample(model, {"ids": data.tokens(3, (2, steps), vocabulary)})


@register(
    "onnx/arithmetic/two-inputs",
    "Two inputs whose order matters, two outputs, and 3 + 4 left to constant folding",
    tags=("built",),
)
def _two_inputs() -> Sample:
    graph = _Graph(104)
    seven = graph.add("Add", graph.constant(3.0), graph.constant(4.0))
    difference = graph.add("Sub", "b", "a")
    graph.add("Mul", difference, seven, outputs=["scaled"])
    graph.add("Concat", "a", difference, outputs=["joined"], axis=1)
    model = graph.model(
        [("b", "float32", (2, 3)), ("a", "float32", (2, 3))],
        [("scaled", "float32", (2, 3)), ("joined", "float32", (2, 6))],
        opset=13,
    )
    random = data.generator(4)
    inputs = {name: random.normal(size=(2, 3)).astype(np.float32) for name in ("b", "a")}
    return Sample(model, inputs)


@register(
    "onnx/recurrent/lstm",
    "A bidirectional LSTM with an initial state",
    suites=("full",),
    tags=("built", "recurrent"),
)
def _lstm() -> Sample:
    wide, hidden, steps = 6, 8, 7
    graph = _Graph(105)
    weights = [
        graph.weight(2, 4 * hidden, wide, fan_in=2 * wide),
        graph.weight(2, 4 * hidden, hidden, fan_in=2 * hidden),
        graph.uniform(-0.3, 0.3, 2, 8 * hidden),
    ]
    state = [graph.uniform(-1.0, 1.0, 2, 3, hidden) for _ in range(2)]
    graph.add(
        "LSTM", "sequence", *weights, "", *state,
        outputs=["steps", "last", "cell"], hidden_size=hidden, direction="bidirectional",
    )  # fmt: skip
    model = graph.model(
        [("sequence", "float32", (steps, 3, wide))],
        [
            ("steps", "float32", (steps, 2, 3, hidden)),
            ("last", "float32", (2, 3, hidden)),
            ("cell", "float32", (2, 3, hidden)),
        ],
        opset=14,
    )
    sequence = data.generator(5).normal(size=(steps, 3, wide)).astype(np.float32)
    return Sample(model, {"sequence": sequence})
