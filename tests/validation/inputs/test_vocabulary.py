from __future__ import annotations

import pytest

from validation.inputs import integer_limits


def test_the_framework_s_own_reader_is_asked() -> None:
    torch = pytest.importorskip("torch")
    options = {"input_info": [("ids", (2, 3), "int64")]}
    assert integer_limits("torch", torch.nn.Embedding(6, 2), options) == {"ids": 6}


@pytest.mark.parametrize("framework", ["onnx", "torch", "tensorflow", "keras", "tflite", "other"])
def test_what_cannot_be_read_is_no_error(framework: str) -> None:
    assert integer_limits(framework, object(), {"input_info": 3}) == {}
    assert integer_limits(framework, b"not a model", {}) == {}
