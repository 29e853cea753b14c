"""Exporting modules: copies, example sizes, bounds, and whose fault an error is."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from forge import InvalidInput, LoadError, TensorSpec  # noqa: E402
from forge.prepare.torch.export import check_argument_count, eval_copy, export_module  # noqa: E402

nn = torch.nn


def _spec(*shape: int | str) -> list[TensorSpec]:
    return [TensorSpec("x", shape, "float32")]


def test_the_copy_is_in_eval_mode_and_the_module_is_not_changed() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Dropout())
    net[0].eval()
    copy, steps = eval_copy(net)
    assert [part.training for part in net.modules()] == [True, False, True]
    assert not any(part.training for part in copy.modules())
    assert steps[0].count == 2
    assert copy[0].weight.data_ptr() != net[0].weight.data_ptr()
    assert eval_copy(net.eval())[1] == []


def test_tied_weights_stay_tied_in_the_copy() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    copy, _ = eval_copy(net)
    assert copy[1].weight is copy[0].weight


def test_weights_without_values_are_refused() -> None:
    with pytest.raises(InvalidInput, match="meta device"):
        eval_copy(nn.Linear(2, 2, device="meta"))


def test_a_wrong_number_of_inputs_is_refused() -> None:
    with pytest.raises(InvalidInput, match="names 2 inputs"):
        check_argument_count(nn.Linear(2, 2), _spec(1, 2) * 2)


def test_an_image_of_any_size_gets_a_lower_bound() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3, 2), nn.Conv2d(4, 4, 3)).eval()
    program, steps = export_module(net, _spec("N", 3, "H", "W"))
    assert [step.name for step in steps] == ["symbolic bounds"]
    assert any(line.startswith("H >= ") for line in steps[0].details)
    lowers = sorted(int(bounds.lower) for bounds in program.range_constraints.values())
    assert lowers[0] == 1
    assert lowers[1] >= 7


def test_a_dimension_that_the_model_fixes_is_named() -> None:
    net = nn.Sequential(nn.Flatten(0), nn.Linear(6, 2)).eval()
    with pytest.raises(InvalidInput, match="dimensions N can stay symbolic"):
        export_module(net, _spec("N", 3))


def test_inputs_on_which_the_model_fails_are_the_caller_s_fault() -> None:
    with pytest.raises(InvalidInput, match="the model itself fails"):
        export_module(nn.Linear(3, 2).eval(), _spec(1, 4))


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2 if bool(x.sum() > 0) else x - 1


def test_a_branch_on_values_is_explained(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(LoadError, match="branches on") as caught:
        export_module(Branch().eval(), _spec(2, 3))
    assert caught.value.__cause__ is not None
    assert capfd.readouterr().err == ""
