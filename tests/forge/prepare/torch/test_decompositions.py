"""What decomposition leaves alone, and what it says of itself."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from forge.prepare.torch.decompositions import decompose  # noqa: E402

nn = torch.nn


def _operators(program: Any) -> set[str]:
    return {node.target.__name__ for node in program.graph.nodes if node.op == "call_function"}


def test_a_convolutional_network_keeps_its_layers() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2))
    program = torch.export.export(net.eval(), (torch.zeros(1, 3, 8, 8),))
    before = str(program.graph)
    result, step = decompose(program)
    assert str(program.graph) == before
    assert step.count == 0
    assert _operators(result) == {
        "convolution.default",
        "_native_batch_norm_legit_no_training.default",
        "relu.default",
        "max_pool2d_with_indices.default",
        "getitem",
    }


def test_a_linear_layer_becomes_a_product_and_a_sum() -> None:
    program = torch.export.export(nn.Linear(3, 2).eval(), (torch.zeros(1, 3),))
    result, _ = decompose(program)
    assert _operators(result) == {"permute.default", "mm.default", "add.Tensor"}


def test_the_step_counts_what_was_rewritten(module_of: Any) -> None:
    module = module_of(lambda x: x[:, -1] + x[:, [-1]].sum(1))
    program = torch.export.export(module, (torch.zeros(2, 3),))
    _, step = decompose(program)
    assert step.details == ("aten.index.Tensor: 1", "aten.select.int: 1")
