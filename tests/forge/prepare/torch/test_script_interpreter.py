"""TorchScript graphs run in Python."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from forge import UnsupportedOperator  # noqa: E402
from forge.prepare.torch.script_interpreter import Interpreted, has_state  # noqa: E402

nn = torch.nn


class Mixed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor, flip: bool = True) -> dict[str, torch.Tensor]:
        y, (h, _) = self.lstm(x)
        parts = torch.chunk(y, 2, dim=1)
        if flip and x.size(1) > 2:
            y = torch.cat([parts[1], parts[0]], dim=1)
        for i in range(y.size(1)):
            y = y * (i + 1)
        return {"y": self.head(y), "h": h[-1].view(-1, 2).sum(0), "n": y.add(1, alpha=2) // 2}


@pytest.mark.parametrize("shape", [(2, 4, 3), (1, 2, 3)])
def test_it_computes_what_torch_does(shape: tuple[int, ...]) -> None:
    frozen = torch.jit.freeze(torch.jit.script(Mixed().eval()))
    x = torch.randn(shape)
    with torch.no_grad():
        want, found = frozen(x, True), Interpreted(frozen)(x, True)
    assert list(found) == list(want)
    for name, value in want.items():
        torch.testing.assert_close(found[name], value)


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() != 2:
            raise ValueError("two dimensions, please")
        return x


def test_a_model_that_raises_does_so_here() -> None:
    frozen = torch.jit.freeze(torch.jit.script(Raises().eval()))
    assert Interpreted(frozen)(torch.zeros(2, 2)).shape == (2, 2)
    with pytest.raises(RuntimeError, match="two dimensions"):
        Interpreted(frozen)(torch.zeros(2))


class Prints(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        print(x.size(0))
        return x


def test_unknown_nodes_are_named() -> None:
    frozen = torch.jit.freeze(torch.jit.script(Prints().eval()))
    with pytest.raises(UnsupportedOperator) as caught:
        Interpreted(frozen)
    assert caught.value.operators == ("prim::Print",)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def test_state_is_seen_and_copied() -> None:
    frozen = torch.jit.freeze(torch.jit.script(Counter().eval()))
    assert has_state(frozen)
    assert not has_state(torch.jit.freeze(torch.jit.script(nn.ReLU().eval())))
    assert Interpreted(frozen)(torch.zeros(3)).tolist() == [1, 1, 1]
    assert frozen(torch.zeros(3)).tolist() == [1, 1, 1]
