from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable, estimated_work, evaluate_function


def build(shapes: list[list[Any]], body: Any) -> Any:
    builder = relax.BlockBuilder()
    params = [
        relax.Var(f"x{place}", relax.TensorType(shape, "float32"))
        for place, shape in enumerate(shapes)
    ]
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(body(*params)))
    return builder.get()


@pytest.mark.parametrize(
    ("shapes", "body", "expected"),
    [
        ([[1, 3, 8, 8], [6, 3, 3, 3]], lambda x, w: op.nn.conv2d(x, w), 6 * 6 * 6 * 27),
        ([[1, 4, 8], [4, 1, 3]], lambda x, w: op.nn.conv1d(x, w, groups=4), 4 * 6 * 3),
        (
            [[1, 3, 4, 4], [3, 5, 2, 2]],
            lambda x, w: op.nn.conv2d_transpose(x, w),
            3 * 16 * 5 * 4,
        ),
        ([[2, 3, 4], [4, 5]], op.matmul, 2 * 3 * 5 * 4),
        ([[1, 2, 6, 6]], lambda x: op.nn.max_pool2d(x, 3, 3), 2 * 4 * 9),
        ([[5, 7]], op.exp, 35),
        ([[5, 7]], lambda x: op.sum(x), 35),
    ],
)
def test_multiplications_are_counted(shapes: Any, body: Any, expected: int) -> None:
    assert estimated_work(build(shapes, body)) == expected


def test_symbolic_dimensions_are_taken_from_the_inputs() -> None:
    batch = tvm.tirx.Var("n", "int64")
    module = build([[batch, 4], [4, 5]], op.matmul)
    assert estimated_work(module) == 20
    assert estimated_work(module, shapes=[(3, 4), (4, 5)]) == 60


def test_called_functions_count_and_loops_once() -> None:
    builder = relax.BlockBuilder()
    vector = relax.TensorType((10,), "float32")
    x, y = relax.Var("x", vector), relax.Var("y", vector)
    with builder.function("helper", [y]):
        builder.emit_func_output(builder.emit(op.exp(y)))
    helper = builder.get().get_global_var("helper")
    with builder.function("main", [x]):
        first = builder.emit(relax.Call(helper, [x]))
        builder.emit_func_output(builder.emit(relax.Call(helper, [first])))
    assert estimated_work(builder.get()) == 20


def test_more_work_than_allowed_is_refused_before_it_begins() -> None:
    module = build([[5, 7]], op.exp)
    seen: list[str] = []
    data = np.zeros((5, 7), "float32")
    with pytest.raises(NotEvaluable, match="over the limit"):
        evaluate_function(module, [data], work_limit=34, observe=lambda name, _: seen.append(name))
    assert not seen
    evaluate_function(module, [data], work_limit=35, observe=lambda name, _: seen.append(name))
    assert len(seen) == 1
