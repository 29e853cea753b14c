from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from validation.references.arbiters.onnx_faults import faults_of

SCALES = {"exact": np.array([1, 1, 2.5, 0.5]), "inexact": np.array([1, 1, 0.6, 2])}


def reasons(node: Any, opset: int = 17, float64: bool = False) -> str:
    return "; ".join(reason for _, reason in faults_of(node, opset, SCALES, float64=float64))


def node(operator: str, inputs: str = "x", outputs: str = "y", **attributes: Any) -> Any:
    return helper.make_node(operator, inputs.split(","), outputs.split(","), **attributes)


@pytest.mark.parametrize(
    ("made", "opset", "reason"),
    [
        (node("LSTM", "x,w,r,b,lengths", hidden_size=3), 17, "sequence_lens"),
        (node("GRU", "x,w,r", hidden_size=3, clip=0.5), 17, "clip"),
        (node("LSTM", "x,w,r", hidden_size=3, input_forget=1), 17, "input_forget"),
        (node("RNN", "x,w,r", hidden_size=3, activations=["Relu"]), 17, "activations"),
        (node("GRU", "x,w,r", activations=["HardSigmoid", "Tanh"]), 17, "activations"),
        (node("LSTM", "x,w,r", hidden_size=3, layout=1), 17, "layout"),
        (node("BatchNormalization", "x,s,b,m,v", training_mode=1), 17, "batch"),
        (node("BatchNormalization", "x,s,b,m,v", "y,m2,v2,s2,t2"), 9, "batch"),
        (node("BatchNormalization", "x,s,b,m,v"), 6, "batch"),
        (node("BatchNormalization", "x,s,b,m,v", spatial=0), 7, "spatial"),
        (node("ConvTranspose", "x,w", auto_pad="SAME_UPPER"), 17, "auto_pad"),
        (node("Dropout", "x", "y,mask"), 10, "mask"),
        (node("Loop", "n,c,v", "v2,scanned"), 17, "wrong axis"),
        (node("Loop", "n,,v", "v2"), 17, "condition"),
        (node("LpNormalization", p=1), 17, "absolute"),
        (node("MaxPool", "x", "y,indices", kernel_shape=[2]), 17, "indices"),
        (
            node("Resize", "x,,exact", coordinate_transformation_mode="align_corners"),
            17,
            "align_corners",
        ),
        (node("Resize", "x,,inexact"), 17, "nearest"),
        (node("Resize", "x,,unknown"), 17, "nearest"),
        (node("Resize", "x,inexact"), 10, "nearest"),
        (node("RoiAlign", "x,r,b"), 10, "half a pixel"),
        (node("RandomNormal", ""), 17, "random"),
    ],
    ids=lambda value: value.op_type if hasattr(value, "op_type") else str(value),
)
def test_a_fault_is_met(made: Any, opset: int, reason: str) -> None:
    assert reason in reasons(made, opset)


@pytest.mark.parametrize(
    ("made", "opset"),
    [
        (node("LSTM", "x,w,r,b,,h,c", hidden_size=3), 17),
        (
            node("LSTM", "x,w,r", activations=["Sigmoid", "Tanh", "Tanh"] * 2),
            17,
        ),
        (node("BatchNormalization", "x,s,b,m,v"), 9),
        (node("ConvTranspose", "x,w", pads=[1, 1, 1, 1]), 17),
        (node("Dropout", "x", "y,mask"), 13),
        (node("Loop", "n,c,v", "v2"), 17),
        (node("LpNormalization"), 17),
        (node("MaxPool", kernel_shape=[2]), 17),
        (node("Resize", "x,,exact"), 17),
        (node("Resize", "x,,,sizes"), 17),
        (node("Resize", "x,,inexact", mode="linear"), 17),
        (node("RoiAlign", "x,r,b"), 16),
        (node("GridSample", "x,g"), 17),
        (node("Relu"), 17),
    ],
    ids=lambda value: value.op_type if hasattr(value, "op_type") else str(value),
)
def test_no_fault_is_met(made: Any, opset: int) -> None:
    assert not reasons(made, opset)


def test_some_faults_are_of_float64_only() -> None:
    assert "float32" in reasons(node("GridSample", "x,g"), float64=True)


def test_a_name_in_another_domain_is_not_meant() -> None:
    made = helper.make_node("RandomNormal", [], ["y"], domain="mine")
    assert not reasons(made)


def test_attributes_that_a_caller_sets_count_as_faulty() -> None:
    made = node("LpNormalization")
    attribute = made.attribute.add()
    attribute.name, attribute.ref_attr_name, attribute.type = "p", "outer", 2
    assert "absolute" in reasons(made)
