import math

import numpy as np
import pytest

from forge.prepare.tensorflow.erfc import replace_erfc

onnx = pytest.importorskip("onnx")


def test_erfc_becomes_one_minus_erf() -> None:
    runtime = pytest.importorskip("onnxruntime")
    helper = onnx.helper
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Erfc", ["x"], ["y"])],
        "erfc",
        [info("x", onnx.TensorProto.FLOAT, [5])],
        [info("y", onnx.TensorProto.FLOAT, [5])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    assert replace_erfc(model) == 1
    onnx.checker.check_model(model)
    x = np.array([-3, -0.5, 0, 0.7, 2], "float32")
    (found,) = runtime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    expected = [math.erfc(value) for value in x]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert replace_erfc(model) == 0
