"""The border of an exported program: weights of its own, outputs without None."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import forge  # noqa: E402
from forge import InvalidInput, LoadError  # noqa: E402
from forge.prepare.torch.program import drop_none_outputs, output_names, own_weights  # noqa: E402

nn = torch.nn


def _export(module: Any, *shape: int) -> Any:
    return torch.export.export(module.eval(), (torch.zeros(shape),), strict=False)


def test_weights_are_copied_once_for_each_storage() -> None:
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    program = _export(net, 1, 3).run_decompositions()
    own_weights(program)
    assert program.state_dict["0.weight"].data_ptr() != net[0].weight.data_ptr()
    assert program.state_dict["0.weight"].data_ptr() == program.state_dict["1.weight"].data_ptr()


def test_a_compiled_program_does_not_see_later_changes() -> None:
    net = nn.Linear(3, 2)
    program = _export(net, 1, 3)
    exe = forge.from_torch(program).compile()
    x = {"input": np.ones((1, 3), np.float32)}
    before = exe.run(x)["output0"].copy()
    with torch.no_grad():
        net.weight.add_(5)
    np.testing.assert_array_equal(exe.run(x)["output0"], before)


@pytest.mark.parametrize(
    "view", [lambda w: w.t(), lambda w: w[:, ::2], lambda w: w[:1].expand(3, 4)]
)
def test_weights_that_are_views_are_read_right(view: Any) -> None:
    class Viewed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("w", view(torch.arange(12.0).reshape(3, 4)))

        def forward(self, x: Any) -> Any:
            return x + self.w

    net = Viewed()
    shape = tuple(net.w.shape)
    exe = forge.from_torch(net, [("x", shape)]).compile()
    found = exe.run({"x": np.zeros(shape, np.float32)})["output0"]
    np.testing.assert_array_equal(found, net.w.numpy())


def test_sparse_weights_are_refused() -> None:
    program = _export(nn.Linear(3, 3), 1, 3)
    program.state_dict["weight"] = torch.eye(3).to_sparse()
    with pytest.raises(InvalidInput, match="'weight' is sparse"):
        own_weights(program)


class Nested(nn.Module):
    def forward(self, x: Any) -> Any:
        return {"a": (x, None), "b": None, "c": x + 1}


def test_none_is_dropped_and_names_follow_the_structure() -> None:
    program = _export(Nested(), 2, 3)
    assert output_names(program) == ["a.0", "c"]
    step = drop_none_outputs(program)
    assert step is not None
    assert step.count == 2
    assert len(program.graph_signature.output_specs) == 2
    assert drop_none_outputs(program) is None


class Number(nn.Module):
    def forward(self, x: Any) -> Any:
        return x, 3


def test_an_output_that_is_no_tensor_is_refused() -> None:
    with pytest.raises(LoadError, match="output 1 of the model is no tensor but 3"):
        forge.from_torch(Number(), [("x", (2,))])
