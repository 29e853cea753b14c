from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forge import RunError

torch = pytest.importorskip("torch")
from validation.references.arbiters.torch_double import float64_session  # noqa: E402

generator = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return generator.standard_normal(shape).astype(np.float32)


X = normal(3, 4)
WIDE = X.astype(np.float64)


def run(model: Any, **inputs: np.ndarray) -> np.ndarray:
    result = float64_session(model, list(inputs))(inputs)
    return result["output0"]


def module(forward: Callable[..., Any], **attributes: Any) -> Any:
    """Make a module whose forward is a function of it and its input."""

    class Made(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name, value in attributes.items():
                setattr(self, name, value)

        def forward(self, x: Any) -> Any:
            return forward(self, x)

    return Made().eval()


def dense() -> Any:
    torch.manual_seed(0)
    return torch.nn.Linear(4, 5)


def dense_in_float64(layer: Any, x: np.ndarray) -> np.ndarray:
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    result: np.ndarray = x @ weight.astype(np.float64).T + bias
    return result


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    result: np.ndarray = powers / powers.sum(-1, keepdims=True)
    return result


def test_parameters_and_batch_norm(is_float64: Callable[..., None]) -> None:
    norm = torch.nn.BatchNorm1d(5)
    norm.running_mean.normal_()
    norm.running_var.uniform_(0.5, 2)
    layer = dense()
    model = torch.nn.Sequential(layer, norm, torch.nn.ReLU()).eval()
    mean, variance = norm.running_mean.numpy(), norm.running_var.numpy()
    hidden = dense_in_float64(layer, WIDE)
    expected = np.maximum((hidden - mean) / np.sqrt(variance.astype(np.float64) + norm.eps), 0)
    is_float64(run(model, x=X), expected)


def test_casts_to_float32_become_float64(is_float64: Callable[..., None]) -> None:
    def forward(self: Any, x: Any) -> Any:
        upcast = torch.softmax(x.float(), -1, dtype=torch.float32).to(torch.float32)
        return upcast.half().type_as(x) + torch.arange(4, dtype=torch.float32) / 3

    is_float64(run(module(forward), x=X), softmax(WIDE) + np.arange(4) / 3)


def test_new_tensors_are_float64(is_float64: Callable[..., None]) -> None:
    def forward(self: Any, x: Any) -> Any:
        buffer = torch.zeros(3, 4)
        buffer[:, 1:] = x[:, :-1]
        return buffer + torch.tensor(0.1) + torch.ones(4, dtype=torch.float32)

    expected = np.concatenate([np.zeros((3, 1)), WIDE[:, :-1]], axis=1) + 0.1 + 1
    is_float64(run(module(forward), x=X), expected)


def test_tensors_that_are_no_parameters_are_widened(is_float64: Callable[..., None]) -> None:
    plain, inner = torch.from_numpy(normal(4, 4)), [torch.from_numpy(normal(4))]
    model = module(lambda self, x: x @ self.plain.T * self.inner[0], plain=plain, inner=inner)
    is_float64(run(model, x=X), WIDE @ plain.numpy().astype(np.float64).T * inner[0].numpy())
    assert plain.dtype == torch.float32


def test_constants_of_a_frozen_script_are_widened(is_float64: Callable[..., None]) -> None:
    layer = dense()
    script = torch.jit.freeze(torch.jit.script(torch.nn.Sequential(layer, torch.nn.Tanh()).eval()))
    is_float64(run(script, x=X), np.tanh(dense_in_float64(layer, WIDE)))


def test_dtypes_that_a_trace_has_recorded_are_widened(is_float64: Callable[..., None]) -> None:
    model = module(lambda self, x: x.to(torch.float32).exp() + torch.zeros(4, dtype=x.dtype))
    script = torch.jit.trace(model, torch.from_numpy(X))
    is_float64(run(script, x=X), np.exp(WIDE))


def test_an_exported_program_is_widened(is_float64: Callable[..., None]) -> None:
    layer, plain = dense(), torch.from_numpy(normal(5))
    model = module(
        lambda self, x: self.layer(x).float() * self.plain + torch.full((5,), 0.25),
        layer=layer,
        plain=plain,
    )
    program = torch.export.export(model, (torch.from_numpy(X),))
    expected = dense_in_float64(layer, WIDE) * plain.numpy() + 0.25
    is_float64(run(program, x=X), expected)
    is_float64(run(program.run_decompositions(), x=X), expected)


def test_complex_numbers_are_widened(is_float64: Callable[..., None]) -> None:
    model = module(lambda self, x: torch.fft.rfft(x).abs())
    is_float64(run(model, x=X), np.abs(np.fft.rfft(WIDE)))


def test_quantised_models_are_refused() -> None:
    model = torch.ao.quantization.quantize_dynamic(torch.nn.Sequential(dense()).eval())
    with pytest.raises(RuntimeError):
        run(model, x=X)


def test_an_operator_that_stays_narrow_is_found() -> None:
    model = module(lambda self, x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize())
    with pytest.raises((RunError, RuntimeError)):
        run(model, x=X)


def test_writing_into_a_tensor_that_cannot_be_widened_is_refused() -> None:
    """A global tensor is widened where it is read: what is written into it would be lost."""
    outside = torch.zeros(3, 4)

    def forward(self: Any, x: Any) -> Any:
        outside.copy_(x)
        return outside + 1

    with pytest.raises(RunError, match="writes into"):
        run(module(forward), x=X)
