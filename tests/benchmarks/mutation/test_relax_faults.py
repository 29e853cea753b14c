from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forge
from benchmarks.mutation.relax_faults import INPUTS, OUTPUTS, mutate, sites
from benchmarks.mutation.seams import Fault
from forge.evaluate import evaluate_function

torch = pytest.importorskip("torch")


class Network(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(2, 4, 3, padding=1),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.Conv2d(4, 4, 3, dilation=2, padding=2),
            torch.nn.AvgPool2d(2, padding=1),
        )
        with torch.no_grad():
            self.layers[1].running_mean.uniform_(-2, 2)
            self.layers[1].running_var.uniform_(0.1, 4)

    def forward(self, a: Any, b: Any) -> Any:
        left, right = self.layers(a), self.layers(b)
        both = torch.cat([left - right, torch.tanh(right)], 1)
        return both.softmax(1), both.flip(1).contiguous()


@pytest.fixture(scope="module")
def ir() -> forge.IRModule:
    shape = (1, 2, 6, 6)
    return forge.from_torch(Network().eval(), [("a", shape), ("b", shape)], fold=False)


def outputs(module: Any) -> list[np.ndarray]:
    generator = np.random.default_rng(1)
    inputs = [generator.standard_normal((1, 2, 6, 6)).astype("float32") for _ in range(2)]
    values = evaluate_function(module, inputs)
    return [np.asarray(value) for value in values]  # type: ignore[union-attr]


def test_most_kinds_find_a_place_and_change_what_is_computed(ir: forge.IRModule) -> None:
    right = outputs(ir.module)
    moved: dict[str, bool] = {}
    for site in sites(ir.module):
        wrong = outputs(mutate(ir.module, site, 0))
        assert [each.shape for each in wrong] == [each.shape for each in right], site
        changed = any(not np.array_equal(a, b) for a, b in zip(right, wrong, strict=True))
        moved[site.kind] = moved.get(site.kind, False) or changed
    assert set(moved) >= {
        INPUTS, "weight-element", "weight-rolled", "weight-channel-lost", "bias-dropped",
        "activation-lost", "operands-swapped", "operator-confused", "element-lost",
        "half-precision", "pad-shifted", "dilation-ignored", "axis-confused", "order-of-parts",
        "epsilon-confused", "statistics-confused", "batch-norm-in-training", "count-of-padding",
    }  # fmt: skip
    assert [kind for kind, changed in moved.items() if not changed] in ([], [OUTPUTS])


def test_a_module_is_not_changed_by_its_mutants(ir: forge.IRModule) -> None:
    right = outputs(ir.module)
    for site in list(sites(ir.module))[:10]:
        mutate(ir.module, site, 0)
    for before, after in zip(right, outputs(ir.module), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_fault_stays_where_its_seed_puts_it(ir: forge.IRModule) -> None:
    first, again, other = Fault("loader", 3), Fault("loader", 3), Fault("loader", 4)
    results = [outputs(fault.module(ir.module)) for fault in (first, again, first, other)]
    for same in results[1:3]:
        for a, b in zip(results[0], same, strict=True):
            np.testing.assert_array_equal(a, b)
    assert first.kind == again.kind != ""
