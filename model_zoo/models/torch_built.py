"""Built torch networks, in each of the shapes in which users hold one."""

from __future__ import annotations

from typing import Any

import numpy as np

from model_zoo import data
from model_zoo.entry import Sample
from model_zoo.registry import register

BUILT = ("built",)


def torch_sample(model: Any, *, inputs: dict[str, np.ndarray], **options: Any) -> Sample:
    """Describe the inputs to the loader by name, shape and, where it is not float32, dtype."""
    info = [
        (name, tuple(values.shape))
        if values.dtype == np.float32
        else (name, tuple(values.shape), values.dtype.name)
        for name, values in inputs.items()
    ]
    return Sample(model, inputs, {"input_info": info, **options})


@register(
    "torch/conv-bn-relu/module",
    "The guide's model as an nn.Module",
    tags=(*BUILT, "guide", "batch-norm"),
)
def _module() -> Sample:
    from model_zoo.networks import convolutional, tools

    model = tools.initialise(convolutional.ConvBnRelu(), seed=7)
    return torch_sample(model, inputs={"input0": data.images(11, 1, 3, 128, 128)})


@register(
    "torch/conv-bn-relu/dynamic",
    "The guide's model with a symbolic batch, run at 1 and 4",
    tags=(*BUILT, "guide", "batch-norm", "dynamic-batch"),
)
def _dynamic() -> Sample:
    from model_zoo.networks import convolutional, tools

    model = tools.initialise(convolutional.ConvBnRelu(), seed=7)
    return Sample(
        model,
        {"input0": data.images(11, 1, 3, 64, 64)},
        {"input_info": [("input0", ("N", 3, 64, 64))]},
        extra_inputs=({"input0": data.images(12, 4, 3, 64, 64)},),
    )


@register(
    "torch/conv-bn-relu/fx",
    "The guide's model as an fx.GraphModule",
    tags=(*BUILT, "batch-norm"),
)
def _fx() -> Sample:
    import torch

    from model_zoo.networks import convolutional, tools

    model = torch.fx.symbolic_trace(tools.initialise(convolutional.ConvBnRelu(), seed=7))
    return torch_sample(model, inputs={"input0": data.images(13, 2, 3, 33, 47)})


@register(
    "torch/strided-classifier/jit-load",
    "The guide's second example: a traced .pt read by torch.jit.load, 1 x 3 x 224 x 224",
    tags=(*BUILT, "guide", "batch-norm"),
)
def _jit_load() -> Sample:
    import torch

    from model_zoo.networks import convolutional, tools

    model = tools.initialise(convolutional.StridedClassifier(), seed=8)
    script = tools.reopened(tools.traced(model, torch.zeros(1, 3, 224, 224)))
    return torch_sample(script, inputs={"input0": data.images(14, 1, 3, 224, 224)})


@register(
    "torch/residual/module",
    "A small residual network as an nn.Module",
    tags=(*BUILT, "batch-norm"),
)
def _residual() -> Sample:
    from model_zoo.networks import convolutional, tools

    model = tools.initialise(convolutional.ResidualNet(), seed=9)
    return torch_sample(model, inputs={"image": data.images(15, 1, 3, 56, 56)})


@register(
    "torch/residual/traced",
    "The same residual network, traced",
    tags=(*BUILT, "batch-norm"),
)
def _residual_traced() -> Sample:
    import torch

    from model_zoo.networks import convolutional, tools

    model = tools.initialise(convolutional.ResidualNet(), seed=9)
    script = tools.traced(model, torch.zeros(1, 3, 56, 56))
    return torch_sample(script, inputs={"image": data.images(15, 1, 3, 56, 56)})


@register(
    "torch/separable/scripted",
    "Depthwise separable blocks with hard activations, scripted with its branches",
    tags=(*BUILT, "batch-norm"),
)
def _separable() -> Sample:
    from model_zoo.networks import convolutional, tools

    model = tools.scripted(tools.initialise(convolutional.SeparableNet(), seed=10))
    return torch_sample(model, inputs={"image": data.images(16, 1, 3, 49, 49)})


@register(
    "torch/two-heads/dict",
    "A dict of two outputs in an order that is not alphabetical",
    tags=(*BUILT, "batch-norm", "structured-output"),
)
def _two_heads() -> Sample:
    from model_zoo.networks import convolutional, tools

    model = tools.initialise(convolutional.TwoHeads(), seed=11)
    return torch_sample(model, inputs={"image": data.images(17, 1, 1, 20, 24)})


@register(
    "torch/tabular/module",
    "int64 categories beside float columns; batch norm after Linear",
    tags=(*BUILT, "batch-norm", "integer-input"),
)
def _tabular() -> Sample:
    from model_zoo.networks import sequential, tools

    model = tools.initialise(sequential.TabularNet(), seed=12)
    numbers = data.generator(19).normal(size=(4, 5)).astype(np.float32)
    categories = data.tokens(18, (4, 3), 50)
    return torch_sample(model, inputs={"categories": categories, "numbers": numbers})


@register(
    "torch/attention/exported",
    "A causal attention block as an ExportedProgram; the last step is a negative index",
    tags=(*BUILT, "attention", "structured-output"),
)
def _attention() -> Sample:
    import torch

    from model_zoo.networks import sequential, tools

    model = tools.initialise(sequential.AttentionBlock(), seed=13)
    program = torch.export.export(model, (torch.zeros(2, 9, 32),), strict=False)
    sequence = data.generator(20).normal(size=(2, 9, 32)).astype(np.float32)
    return torch_sample(program, inputs={"sequence": sequence})


@register(
    "torch/transformer/encoder-layer",
    "torch's own TransformerEncoderLayer with fused attention",
    suites=("full",),
    tags=(*BUILT, "attention"),
)
def _encoder_layer() -> Sample:
    import torch

    from model_zoo.networks import tools

    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    model = tools.initialise(layer, seed=14)
    sequence = data.generator(21).normal(size=(2, 7, 32)).astype(np.float32)
    return torch_sample(model, inputs={"sequence": sequence})


@register(
    "torch/recurrent/gru",
    "A two-layer bidirectional GRU",
    suites=("full",),
    tags=(*BUILT, "recurrent", "structured-output"),
)
def _gru() -> Sample:
    import torch

    from model_zoo.networks import tools

    model = tools.initialise(
        torch.nn.GRU(6, 8, num_layers=2, bidirectional=True, batch_first=True), seed=15
    )
    sequence = data.generator(22).normal(size=(2, 5, 6)).astype(np.float32)
    return torch_sample(model, inputs={"sequence": sequence})
