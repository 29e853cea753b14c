from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from validation.references.arbiters import arbiters_of

torch = pytest.importorskip("torch")
generator = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


class Network(torch.nn.Module):  # type: ignore[misc]
    """Convolution, batch norm with random statistics, two inputs whose order matters."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=1)
        self.norm = torch.nn.BatchNorm2d(5)
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)
        self.register_buffer("factor", torch.randn(5, 1, 1))
        self.dense = torch.nn.Linear(5, 4)

    def forward(self, image: Any, other: Any, count: Any) -> dict[str, Any]:
        features = torch.relu(self.norm(self.conv(image))) * self.factor
        return {"twice": count * 2, "y": self.dense(features.mean((2, 3))) - other}


SPECS = [("image", (2, 3, 9, 7)), ("other", (2, 4)), ("count", (3,), "int64")]
INPUTS = {
    "image": normal(2, 3, 9, 7),
    "other": normal(2, 4),
    "count": np.array([(1 << 53) + 1, -3, 7]),
}


def network() -> Any:
    torch.manual_seed(0)
    return Network().eval()


def examples() -> tuple[Any, ...]:
    return tuple(torch.from_numpy(array) for array in INPUTS.values())


def exported() -> Any:
    return torch.export.export(network(), examples())


FORMS: dict[str, Callable[[], Any]] = {
    "module": network,
    "module in training mode": lambda: network().train(),
    "traced": lambda: torch.jit.trace(network(), examples(), strict=False),
    "frozen": lambda: torch.jit.freeze(torch.jit.trace(network(), examples(), strict=False)),
    "graph": lambda: torch.fx.symbolic_trace(network()),
    "exported": exported,
}


@pytest.mark.parametrize("form", FORMS)
def test_all_agree_with_the_reference(form: str, agree: Callable[..., Any]) -> None:
    options = {} if form == "exported" else {"input_info": SPECS}
    agree("torch", FORMS[form](), options, INPUTS)


def test_scripts_agree_with_the_reference(agree: Callable[..., Any]) -> None:
    script = torch.jit.script(torch.nn.Sequential(network().conv, network().norm).eval())
    agree("torch", script, {"input_info": SPECS[:1]}, {"image": INPUTS["image"]})


@pytest.mark.parametrize("form", ["module", "module in training mode", "traced", "exported"])
def test_the_model_and_torch_stay_as_they_were(form: str) -> None:
    model = FORMS[form]()
    state = model.state_dict if form == "exported" else model.state_dict()
    before = {name: value.clone() for name, value in state.items()}
    training = getattr(model, "training", None)
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    for arbiter in arbiters_of("torch", model, {"input_info": SPECS}, 3):
        arbiter.start()(INPUTS)
    state = model.state_dict if form == "exported" else model.state_dict()
    assert {name: value.dtype for name, value in state.items()} == {
        name: value.dtype for name, value in before.items()
    }
    assert all(torch.equal(state[name], value) for name, value in before.items())
    assert getattr(model, "training", None) == training
    assert (torch.get_num_threads(), torch.get_default_dtype()) == (threads, dtype)
    assert torch.backends.mkldnn.enabled


def test_the_second_runs_without_onednn_on_one_thread() -> None:
    seen = []

    class Witness(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            seen.append((torch.backends.mkldnn.enabled, torch.get_num_threads()))
            return x + 1

    arbiter = arbiters_of("torch", Witness(), {"input_info": [("x", (2,))]}, 2)[1]
    arbiter.start()({"x": normal(2)})
    assert seen == [(False, 1)]


def test_bfloat16_inputs_are_widened() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    model = torch.nn.Linear(4, 3).to(torch.bfloat16).eval()
    options = {"input_info": [("x", (2, 4), "bfloat16")]}
    x = normal(2, 4).astype(ml_dtypes.bfloat16)
    result = arbiters_of("torch", model, options, 1)[0].start()({"x": x})["output0"]
    weight, bias = (p.detach().double().numpy() for p in (model.weight, model.bias))
    np.testing.assert_allclose(result, x.astype(np.float64) @ weight.T + bias, rtol=1e-12)
