"""Built torch networks run in torch and come out the same twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

import model_zoo
from model_zoo import Entry, Sample

torch = pytest.importorskip("torch")

ENTRIES = [
    entry for entry in model_zoo.entries() if entry.framework == "torch" and not entry.source
]


def run(sample: Sample) -> list[Any]:
    model = sample.model
    if isinstance(model, torch.export.ExportedProgram):
        model = model.module()
    with torch.no_grad():
        result = model(*[torch.from_numpy(values) for values in sample.inputs.values()])
    return [leaf.numpy() for leaf in torch.utils._pytree.tree_leaves(result)]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_it_runs_and_is_deterministic(
    entry: Entry, telling: Callable[[Iterable[Any]], None]
) -> None:
    torch.manual_seed(1)
    first = entry.build()
    torch.manual_seed(2)
    second = entry.build()
    outputs = run(first)
    telling(outputs)
    for one, other in zip(outputs, run(second), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_the_input_info_describes_the_inputs(entry: Entry) -> None:
    sample = entry.build()
    for (name, values), (told, shape, *dtype) in zip(
        sample.inputs.items(), sample.options["input_info"], strict=True
    ):
        assert told == name
        assert all(dim == size or isinstance(dim, str) for dim, size in zip(shape, values.shape))
        assert values.dtype.name == (dtype[0] if dtype else "float32")


def test_batch_norms_of_the_module_have_statistics_that_matter(
    zoo: Callable[[str], Entry],
) -> None:
    model = zoo("torch/conv-bn-relu/module").build().model
    norms = [layer for layer in model if isinstance(layer, torch.nn.BatchNorm2d)]
    assert len(norms) == 2
    assert not model.training
    for norm in norms:
        for values in (norm.running_mean, norm.running_var, norm.weight, norm.bias):
            assert values.std() > 0.05


def test_the_dict_is_not_in_alphabetical_order(zoo: Callable[[str], Entry]) -> None:
    sample = zoo("torch/two-heads/dict").build()
    result = sample.model(torch.from_numpy(sample.inputs["image"]))
    assert list(result) == ["scores", "boxes"]
