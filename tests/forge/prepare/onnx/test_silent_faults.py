from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from forge.prepare.onnx.silent_faults import find  # noqa: E402


def single(onnx_model: Callable[..., Any], name: str, **options: Any) -> Any:
    """A model of one node; ``find`` reads nodes and initializers, not types."""
    inputs = options.pop("inputs", ["x"])
    outputs = options.pop("outputs", ["y"])
    initializers = options.pop("initializers", None)
    node = helper.make_node(name, inputs, outputs, **options)
    return onnx_model(
        [node], {"x": ((1, 2, 4, 4), "float32")}, {"y": (None, "float32")}, initializers
    )


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        ("BatchNormalization", {"training_mode": 1}, "training mode"),
        ("BatchNormalization", {"outputs": ["y", "mean", "var"]}, "training mode"),
        ("IsInf", {"detect_negative": 0}, "one sign"),
        ("IsInf", {"detect_positive": 0}, "one sign"),
        ("ConvTranspose", {"output_shape": [8, 8]}, "output_shape"),
        ("ConvTranspose", {"auto_pad": "SAME_UPPER"}, "auto_pad=SAME_UPPER"),
        ("RoiAlign", {"mode": "max"}, "mode=max"),
        ("LayerNormalization", {"outputs": ["y", "", "inv"]}, "InvStdDev"),
        ("Resize", {"antialias": 1}, "antialias"),
        ("Cast", {"to": TensorProto.FLOAT8E4M3FN}, "float8"),
        ("Cast", {"to": TensorProto.INT4}, "narrower"),
        ("Dropout", {"outputs": ["y", "mask"]}, "mask"),
    ],
)
def test_a_fault_is_found(
    name: str, options: dict[str, Any], reason: str, onnx_model: Callable[..., Any]
) -> None:
    found = find(single(onnx_model, name, **options))
    assert list(found) == [f"ai.onnx::{name}"]
    assert reason in found[f"ai.onnx::{name}"]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("BatchNormalization", {"training_mode": 0}),
        ("IsInf", {}),
        ("ConvTranspose", {"auto_pad": "VALID"}),
        ("ConvTranspose", {"auto_pad": "NOTSET"}),
        ("RoiAlign", {"mode": "avg"}),
        ("LayerNormalization", {"outputs": ["y", "", ""]}),
        ("Resize", {"antialias": 0}),
        ("Cast", {"to": TensorProto.INT8}),
        ("Dropout", {"outputs": ["y", ""]}),
    ],
)
def test_what_tvm_gets_right_is_left(
    name: str, options: dict[str, Any], onnx_model: Callable[..., Any]
) -> None:
    assert find(single(onnx_model, name, **options)) == {}


def test_another_domain_is_not_judged(onnx_model: Callable[..., Any]) -> None:
    assert find(single(onnx_model, "Resize", antialias=1, domain="my.custom")) == {}


def test_limits_of_non_max_suppression_must_be_constants(onnx_model: Callable[..., Any]) -> None:
    limits = {"most": np.array([3]), "overlap": np.array([0.5], "float32")}
    inputs = ["boxes", "scores", "most", "overlap"]
    right = single(onnx_model, "NonMaxSuppression", inputs=inputs, initializers=limits)
    assert find(right) == {}
    limits.pop("overlap")
    wrong = single(onnx_model, "NonMaxSuppression", inputs=inputs, initializers=limits)
    assert list(find(wrong)) == ["ai.onnx::NonMaxSuppression"]


def test_branches_are_searched(onnx_model: Callable[..., Any]) -> None:
    output = helper.make_tensor_value_info("t", TensorProto.FLOAT, [2])
    nodes = [helper.make_node("Dropout", ["x"], ["t", "mask"])]
    branch = helper.make_graph(nodes, "b", [], [output])
    model = single(onnx_model, "If", inputs=["c"], then_branch=branch, else_branch=branch)
    assert list(find(model)) == ["ai.onnx::Dropout"]
