"""The guide's exports hold what their descriptions say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from model_zoo import Entry, Sample

pytest.importorskip("onnx")
pytest.importorskip("torch")

Lookup = Callable[[str], Entry]


def operators(sample: Sample) -> Counter[str]:
    return Counter(node.op_type for node in sample.model.graph.node)


@pytest.mark.parametrize("variant", ["traced", "scripted", "kept-batch-norm"])
def test_the_first_axis_is_named_n(variant: str, zoo: Lookup) -> None:
    sample = zoo(f"onnx/conv-bn-relu/{variant}").build()
    for border in (sample.model.graph.input[0], sample.model.graph.output[0]):
        assert border.type.tensor_type.shape.dim[0].dim_param == "N"
    assert [opset.version for opset in sample.model.opset_import] == [13]
    batches = [inputs["input"].shape[0] for inputs in (sample.inputs, *sample.extra_inputs)]
    assert batches == [1, 4]


def test_only_the_variant_that_keeps_them_has_batch_norms(zoo: Lookup) -> None:
    kept = operators(zoo("onnx/conv-bn-relu/kept-batch-norm").build())
    assert kept["BatchNormalization"] == 2
    assert operators(zoo("onnx/conv-bn-relu/traced").build())["BatchNormalization"] == 0


def test_the_custom_operator_is_there_until_it_is_removed(zoo: Lookup) -> None:
    pytest.importorskip("onnx_graphsurgeon")
    given = zoo("onnx/custom-operator/given").build()
    foos = [node for node in given.model.graph.node if node.op_type == "FooOp"]
    assert [node.domain for node in foos] == ["devtech"]
    assert list(given.options["custom_ops"]) == ["devtech::FooOp"]
    removed = zoo("onnx/custom-operator/removed").build()
    assert operators(removed)["FooOp"] == 0
    assert operators(removed) == operators(zoo("onnx/conv-bn-relu/traced").build())


def test_the_variants_agree(zoo: Lookup) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx_graphsurgeon")

    def run(id: str) -> Any:
        sample = zoo(id).build()
        session = onnxruntime.InferenceSession(sample.model.SerializeToString())
        return session.run(None, dict(sample.extra_inputs[0]))[0]

    expected = run("onnx/conv-bn-relu/traced")
    assert expected.std() > 0.1
    for id in (
        "onnx/conv-bn-relu/scripted",
        "onnx/conv-bn-relu/kept-batch-norm",
        "onnx/custom-operator/removed",
    ):
        # Folding the batch norms reorders float32 sums of up to 145 terms.
        np.testing.assert_allclose(run(id), expected, rtol=1e-4, atol=1e-5)
