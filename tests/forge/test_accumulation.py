from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax
from tvm.relax import op

from forge.accumulation import accumulations


def module(*emit: Any, shape: tuple[Any, ...] = (2, 8)) -> Any:
    """Build ``main(x)`` that applies one function after the other."""
    builder = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorType(shape, "float32"))
    with builder.function("main", [data]):
        with builder.dataflow():
            value = data
            for each in emit:
                value = builder.emit(each(value))
            result = builder.emit_output(op.reshape(value, op.shape_of(value)))
        builder.emit_func_output(result)
    return builder.get()


def weight(*shape: int) -> Any:
    return relax.const(tvm.runtime.tensor(np.ones(shape, "float32")))


@pytest.mark.parametrize(("emit", "count"), [
    (op.nn.relu, 1),
    (lambda x: op.add(x, x), 1),
    (op.tanh, 16),
    (lambda x: op.matmul(x, weight(8, 3)), 8),
    (lambda x: op.sum(x, axis=1), 8),
    (lambda x: op.nn.softmax(x), 8 + 16),
])  # fmt: skip
def test_one_operator(emit: Any, count: int) -> None:
    assert accumulations(module(emit)) == count


def test_a_chain_adds_up() -> None:
    chain = module(lambda x: op.matmul(x, weight(8, 8)), op.nn.relu, lambda x: op.add(x, x))
    assert accumulations(chain) == 8 + 0 + 1


def test_convolutions() -> None:
    plain = module(lambda x: op.nn.conv2d(x, weight(4, 3, 3, 3)), shape=(1, 3, 8, 8))
    depthwise = module(lambda x: op.nn.conv2d(x, weight(3, 1, 3, 3), groups=3), shape=(1, 3, 8, 8))
    last = module(
        lambda x: op.nn.conv2d(x, weight(3, 3, 3, 4), data_layout="NHWC", kernel_layout="HWIO"),
        shape=(1, 8, 8, 3),
    )
    transposed = module(lambda x: op.nn.conv2d_transpose(x, weight(3, 4, 3, 3)), shape=(1, 3, 8, 8))
    assert [accumulations(each) for each in (plain, last, transposed)] == [27, 27, 27]
    assert accumulations(depthwise) == 9


def test_the_longest_way_counts() -> None:
    builder = relax.BlockBuilder()
    data = relax.Var("x", relax.TensorType((2, 8), "float32"))
    with builder.function("main", [data]):
        with builder.dataflow():
            long = builder.emit(op.tanh(builder.emit(op.tanh(data))))
            result = builder.emit_output(op.add(data, long))
        builder.emit_func_output(result)
    assert accumulations(builder.get()) == 16 + 16 + 1


def test_an_open_dimension_is_taken_for_64() -> None:
    length = tvm.tirx.Var("n", "int64")
    assert accumulations(module(lambda x: op.sum(x, axis=1), shape=(2, length))) == 64
