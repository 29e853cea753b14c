"""The exports of the loading guide: two convolutions with batch norms, and a custom operator."""

from __future__ import annotations

import io
from typing import Any

from model_zoo import data
from model_zoo.entry import Sample
from model_zoo.registry import register

TAGS = ("built", "guide", "dynamic-batch", "requires:torch")


def _export(model: Any, **arguments: Any) -> Any:
    """Export as the guide does, with a dynamic first axis named N; give the ``ModelProto``."""
    import onnx
    import torch

    from model_zoo.networks import tools

    buffer = io.BytesIO()
    settings: dict[str, Any] = {
        "input_names": ["input"],
        "output_names": ["output"],
        "dynamic_axes": {"input": {0: "N"}, "output": {0: "N"}},
        "opset_version": 13,
        "dynamo": False,
        **arguments,
    }
    with tools.quiet():
        torch.onnx.export(model, (torch.zeros(1, 3, 128, 128),), buffer, **settings)
    return onnx.load_model_from_string(buffer.getvalue())


def _network(name: str = "ConvBnRelu") -> Any:
    from model_zoo.networks import convolutional, tools

    return tools.initialise(getattr(convolutional, name)(), seed=7)


def _sample(model: Any, **options: Any) -> Sample:
    return Sample(
        model,
        {"input": data.images(11, 1, 3, 128, 128)},
        options,
        extra_inputs=({"input": data.images(12, 4, 3, 128, 128)},),
    )


@register("onnx/conv-bn-relu/traced", "The guide's model, exported after tracing", tags=TAGS)
def _traced() -> Sample:
    import torch

    from model_zoo.networks import tools

    return _sample(_export(tools.traced(_network(), torch.zeros(1, 3, 128, 128))))


@register("onnx/conv-bn-relu/scripted", "The guide's model, exported after scripting", tags=TAGS)
def _scripted() -> Sample:
    from model_zoo.networks import tools

    return _sample(_export(tools.scripted(_network())))


@register(
    "onnx/conv-bn-relu/kept-batch-norm",
    "The guide's model with its batch norms left in the graph",
    tags=(*TAGS, "batch-norm"),
)
def _kept_batch_norm() -> Sample:
    import torch

    training = torch.onnx.TrainingMode.PRESERVE
    return _sample(_export(_network(), training=training, do_constant_folding=False))


@register(
    "onnx/conv-bn-relu/new-exporter",
    "The guide's model by torch's newer exporter, which runs when dynamo= is not given",
    tags=(*TAGS, "requires:onnxscript"),
)
def _new_exporter() -> Sample:
    import torch

    return _sample(
        _export(
            _network(),
            dynamo=True,
            opset_version=18,
            dynamic_axes=None,
            dynamic_shapes={"input": {0: torch.export.Dim("N")}},
            verbose=False,
        )
    )


def _with_custom_operator() -> Any:
    return _export(_network("ConvBnReluFoo"), custom_opsets={"devtech": 1})


@register(
    "onnx/custom-operator/given",
    "devtech::FooOp in the guide's model, given to the loader as an ONNX function",
    tags=(*TAGS, "custom-operator"),
)
def _custom_operator_given() -> Sample:
    from onnx import helper

    body = [helper.make_node("Identity", ["x"], ["y"])]
    opsets = [helper.make_opsetid("", 13)]
    function = helper.make_function("devtech", "FooOp", ["x"], ["y"], body, opsets)
    return _sample(_with_custom_operator(), custom_ops={"devtech::FooOp": function})


@register(
    "onnx/custom-operator/removed",
    "devtech::FooOp taken out of the guide's model with onnx-graphsurgeon",
    tags=(*TAGS, "custom-operator", "requires:onnx-graphsurgeon"),
)
def _custom_operator_removed() -> Sample:
    import onnx_graphsurgeon as surgeon

    graph = surgeon.import_onnx(_with_custom_operator())
    for node in [node for node in graph.nodes if node.op == "FooOp"]:
        before, after = node.inputs[0], node.outputs[0]
        for user in list(after.outputs):
            user.inputs = [before if value is after else value for value in user.inputs]
        node.outputs.clear()
    return _sample(surgeon.export_onnx(graph.cleanup().toposort()))
