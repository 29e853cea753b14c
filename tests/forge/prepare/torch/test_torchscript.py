"""TorchScript: training mode that is baked in, and symbolic sizes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import forge  # noqa: E402
from forge import LoadError, UnsupportedOperator  # noqa: E402

nn = torch.nn
INFO = [("x", (2, 3, 4, 4))]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 2, 1)
        self.norm = nn.BatchNorm2d(2)
        self.drop = nn.Dropout(0.5)
        nn.init.uniform_(self.norm.running_var, 0.5, 2)
        nn.init.normal_(self.norm.running_mean)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.drop(self.norm(self.conv(x)))
        return y.reshape(y.size(0), -1) // 3 + y.shape[0]


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if bool(x.sum() > 0):
            return x * 2
        return x - 1


class Loop(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x
        for i in range(3):
            total = total + i * x.size(0)
        return total


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.full((4,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def _reloaded(script: Any) -> Any:
    stream = io.BytesIO()
    torch.jit.save(script, stream)
    stream.seek(0)
    return torch.jit.load(stream)


@pytest.mark.parametrize("reload", [False, True])
def test_a_trace_in_training_mode_is_refused_and_named(reload: bool) -> None:
    traced = torch.jit.trace(Net().train(), torch.zeros(2, 3, 4, 4), check_trace=False)
    with pytest.raises(UnsupportedOperator) as caught:
        forge.from_torch(_reloaded(traced) if reload else traced, INFO)
    assert caught.value.operators == ("aten::batch_norm", "aten::dropout")
    assert "layer 'norm'" in str(caught.value)
    assert "layer 'drop'" in str(caught.value)


def test_a_scripted_module_in_training_mode_loads_in_eval_mode_and_stays_as_it_is() -> None:
    net = Net().train()
    scripted = torch.jit.script(net)
    exe = forge.from_torch(scripted, INFO).compile()
    assert scripted.training
    x = torch.randn(2, 3, 4, 4)
    with torch.no_grad():
        want = net.eval()(x).numpy()
    np.testing.assert_allclose(exe.run({"x": x.numpy()})["output0"], want, rtol=1e-5, atol=1e-6)


def test_a_branch_on_values_is_refused() -> None:
    with pytest.raises(LoadError, match="branches on"):
        forge.from_torch(torch.jit.script(Branch()), [("x", (2, 3))])


@pytest.mark.parametrize("make", ["trace", "script"])
def test_sizes_stay_symbolic(make: str) -> None:
    net = Net().eval()
    example = torch.randn(2, 3, 4, 4)
    script = torch.jit.trace(net, example) if make == "trace" else torch.jit.script(net)
    ir = forge.from_torch(script, [("x", ("N", 3, 4, 4))])
    route = next(step for step in ir.history if step.name == "route")
    assert "operator by operator" in route.reason
    exe = ir.compile()
    for batch in (1, 2, 7):
        x = torch.randn(batch, 3, 4, 4)
        with torch.no_grad():
            want = net(x).numpy()
        np.testing.assert_allclose(exe.run({"x": x.numpy()})["output0"], want, rtol=1e-5)


def test_loops_and_numbers_run_as_python_ones() -> None:
    exe = forge.from_torch(torch.jit.script(Loop()), [("x", ("N", 2))]).compile()
    x = np.ones((5, 2), np.float32)
    np.testing.assert_array_equal(exe.run({"x": x})["output0"], x + 15)


def test_integer_division_of_a_trace_floors() -> None:
    """The older ONNX exporter would truncate: -5 // 3 gives -1 there."""
    module = nn.Sequential()
    module.forward = lambda x: (x // 3, x * 0.5)  # type: ignore[method-assign]
    x = torch.tensor([-5, -1, 4])
    traced = torch.jit.trace(module, x)
    found = forge.from_torch(traced, [("x", ("N",), "int64")]).compile().run({"x": x.numpy()})
    np.testing.assert_array_equal(found["output0"], [-2, -1, 1])
    np.testing.assert_array_equal(found["output1"], [-2.5, -0.5, 2])
    assert found["output1"].dtype == np.float32


def test_a_buffer_that_is_written_starts_from_the_loaded_state() -> None:
    ir = forge.from_torch(torch.jit.script(Counter()), [("x", (2, 4))])
    assert any(step.name == "mutated state" for step in ir.history)
    exe = ir.compile()
    for _ in range(2):
        np.testing.assert_array_equal(exe.run({"x": np.zeros((2, 4), "f")})["output0"], 3)
