from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable, evaluate_function

RNG = np.random.default_rng(2)
DATA = RNG.normal(size=(2, 3, 4)).astype("float32") * 3


def test_activations_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases = {
        "softmax": (lambda x: op.nn.softmax(x, 1), (DATA,)),
        "log_softmax": (lambda x: op.nn.log_softmax(x, -1), (DATA,)),
        "gelu": (op.nn.gelu, (DATA,)),
        "gelu_tanh": (op.nn.gelu_tanh, (DATA,)),
        "silu": (op.nn.silu, (DATA,)),
        "leakyrelu": (lambda x: op.nn.leakyrelu(x, 0.2), (DATA,)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert_allclose(ours, compiled, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm_is_inference_only(training: bool) -> None:
    parameters = [RNG.uniform(0.5, 2.0, 3).astype("float32") for _ in range(4)]
    builder = relax.BlockBuilder()
    variables = [
        relax.Var(f"x{index}", relax.TensorType(value.shape, "float32"))
        for index, value in enumerate([DATA, *parameters])
    ]
    with builder.function("main", variables):
        with builder.dataflow():
            call = op.nn.batch_norm(*variables, 1, epsilon=0.1, training=training)
            result = builder.emit_output(builder.emit(call))
        builder.emit_func_output(result)
    if training:
        with pytest.raises(NotEvaluable):
            evaluate_function(builder.get(), [DATA, *parameters])
        return
    result = evaluate_function(builder.get(), [DATA, *parameters])
    gamma, beta, mean, variance = (value[:, None] for value in parameters)
    expected = (DATA - mean) / np.sqrt(variance + 0.1) * gamma + beta
    assert_allclose(result[0], expected, rtol=1e-5, atol=1e-6)
    assert_array_equal(result[1], parameters[2])
    assert_array_equal(result[2], parameters[3])
