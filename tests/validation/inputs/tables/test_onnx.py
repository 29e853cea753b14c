from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from validation.inputs.tables.onnx import table_sizes  # noqa: E402


def model(
    nodes: Sequence[Any],
    tables: dict[str, tuple[int, ...]] | None = None,
    inputs: Sequence[str] = ("ids",),
) -> Any:
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info(name, TensorProto.INT64, [2, 3]) for name in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.zeros(shape, np.float32), name)
            for name, shape in (tables or {"t": (30, 4)}).items()
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def node(operator: str, inputs: Sequence[str], output: str = "y", **attributes: Any) -> Any:
    return helper.make_node(operator, inputs, [output], **attributes)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Gather", ["t", "ids"])],
        [node("Gather", ["t", "ids"], axis=0)],
        [node("Cast", ["ids"], "a", to=6), node("Gather", ["t", "a"])],
        [
            node("Identity", ["ids"], "a"),
            node("Unsqueeze", ["a", "axes"], "b"),
            node("Cast", ["b"], "c", to=7),
            node("Reshape", ["c", "shape"], "d"),
            node("Gather", ["t", "d"]),
        ],
        [node("Cast", ["t"], "a", to=10), node("Gather", ["a", "ids"])],
        [
            node("Constant", [], "k", value=numpy_helper.from_array(np.zeros((30, 2), "int8"))),
            node("DequantizeLinear", ["k", "s"], "a"),
            node("Gather", ["a", "ids"]),
        ],
    ],
)
def test_an_index_is_followed_to_its_input(nodes: list[Any]) -> None:
    assert table_sizes(model(nodes), {}) == {"ids": 30}


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Gather", ["t", "ids"], axis=1)],
        [node("Gather", ["ids", "t"])],
        [node("Add", ["ids", "ids"], "a"), node("Gather", ["t", "a"])],
        [node("Relu", ["t"], "a"), node("Gather", ["a", "ids"])],
        [node("Identity", ["ids"])],
    ],
)
def test_what_is_no_plain_lookup_is_left_out(nodes: list[Any]) -> None:
    assert table_sizes(model(nodes), {}) == {}


def test_the_smallest_of_several_tables_an_input() -> None:
    nodes = [
        node("Gather", ["words", "ids"], "a"),
        node("Gather", ["fewer", "ids"], "b"),
        node("Gather", ["kinds", "types"], "c"),
    ]
    tables = {"words": (30, 4), "fewer": (20, 4), "kinds": (2, 4)}
    made = model(nodes, tables, ("ids", "types", "other"))
    assert table_sizes(made, {}) == {"ids": 20, "types": 2}


def test_an_initializer_that_is_an_input_too_is_none() -> None:
    made = model([node("Gather", ["t", "ids"])])
    made.graph.input.append(helper.make_tensor_value_info("t", TensorProto.FLOAT, [30, 4]))
    made.graph.initializer.append(numpy_helper.from_array(np.zeros((2, 3), "int64"), "ids"))
    assert table_sizes(made, {}) == {}
