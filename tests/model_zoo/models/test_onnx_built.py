"""ONNX graphs written node by node run in ONNX Runtime and come out the same twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from model_zoo import Entry

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

IDS = [
    "onnx/dense/gemm",
    "onnx/conv-stack/pooled",
    "onnx/transformer/encoder-block",
    "onnx/arithmetic/two-inputs",
    "onnx/recurrent/lstm",
]


@pytest.mark.parametrize("id", IDS)
def test_it_runs_and_is_deterministic(
    id: str, zoo: Callable[[str], Entry], telling: Callable[[Iterable[Any]], None]
) -> None:
    first, second = zoo(id).build(), zoo(id).build()
    content = first.model.SerializeToString()
    assert content == second.model.SerializeToString()
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert [value.name for value in session.get_inputs()] == list(first.inputs)
    for name, values in first.inputs.items():
        np.testing.assert_array_equal(values, second.inputs[name])
    telling(session.run(None, dict(first.inputs)))
