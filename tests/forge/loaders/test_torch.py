"""``forge.from_torch`` against eager torch: kinds of model, symbolic sizes, dtypes, bad input."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import forge  # noqa: E402
from forge import InvalidInput, TensorSpec  # noqa: E402
from forge.prepare.torch.outputs import flatten_outputs  # noqa: E402

nn = torch.nn
IMAGE = [("input0", (1, 3, 9, 9))]


class Net(nn.Module):
    """Conv, BN with statistics of its own, two outputs in a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, 2)
        self.norm = nn.BatchNorm2d(4)
        self.head = nn.Linear(4, 5)
        nn.init.normal_(self.norm.running_mean)
        nn.init.uniform_(self.norm.running_var, 0.5, 2)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        y = torch.relu(self.norm(self.conv(x))).mean((2, 3))
        return {"logits": self.head(y), "features": y}


class Decoder(nn.Module):
    """Token ids and a mask, tied embeddings, causal attention, a nested output."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.project = nn.Linear(8, 24)
        self.norm = nn.LayerNorm(8)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: Any, mask: Any) -> Any:
        positions = (mask.cumsum(-1) - 1).masked_fill(mask == 0, 1)
        x = self.embed(ids) + self.embed(positions)
        batch, length, width = x.shape
        q, k, v = (
            t.view(batch, length, 2, width // 2).transpose(1, 2)
            for t in self.project(self.norm(x)).chunk(3, -1)
        )
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.head(x + y.transpose(1, 2).reshape(batch, length, width)), (k, v)


def _check(ir: Any, module: Any, *inputs: Any, tolerance: float = 1e-5) -> None:
    exe = ir.compile("llvm")
    for values in inputs:
        values = values if isinstance(values, tuple) else (values,)
        with torch.no_grad():
            want = dict(flatten_outputs(module(*(value.clone() for value in values))))
        found = exe.run(
            dict(zip([s.name for s in ir.inputs], map(np.asarray, values), strict=True))
        )
        assert list(found) == list(want)
        for name, value in want.items():
            np.testing.assert_allclose(found[name], value.numpy(), rtol=tolerance, atol=tolerance)


def _forms(net: Any, x: Any) -> dict[str, Any]:
    program = torch.export.export(net, (x,))
    stream = io.BytesIO()
    torch.export.save(program, stream)
    stream.seek(0)
    return {
        "module": net,
        "traced": torch.jit.trace(net, x, strict=False),
        "scripted": torch.jit.script(net),
        "program": program,
        "loaded program": torch.export.load(stream),
        "graph module": torch.fx.symbolic_trace(net),
    }


FORMS = ("module", "traced", "scripted", "program", "loaded program", "graph module")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_model_equals_eager(form: str) -> None:
    torch.manual_seed(0)
    net, x = Net().eval(), torch.randn(1, 3, 9, 9)
    ir = forge.from_torch(_forms(net, x)[form], IMAGE)
    assert ir.inputs == (TensorSpec("input0", (1, 3, 9, 9), "float32"),)
    assert "relax.nn.batch_norm" not in ir.operators
    assert next(step for step in ir.history if step.name == "route").reason
    _check(ir, net, x)


def test_a_module_in_training_mode_loads_in_eval_mode_and_is_not_changed() -> None:
    net = Net().train()
    weights = {name: value.clone() for name, value in net.state_dict().items()}
    ir = forge.from_torch(net, IMAGE)
    assert all(part.training for part in net.modules())
    assert all(torch.equal(value, weights[name]) for name, value in net.state_dict().items())
    assert ir.history[0].name == "eval mode"
    _check(ir, Net.eval(net), torch.randn(1, 3, 9, 9))


def test_one_module_runs_at_every_batch_and_image_size() -> None:
    net = Net().eval()
    ir = forge.from_torch(net, [("x", ("N", 3, "H", "W"))])
    assert ir.inputs[0].shape == ("N", 3, "H", "W")
    assert ir.outputs[0].shape == ("N", 5)
    _check(ir, net, *(torch.randn(n, 3, 7 + n, 13 - n) for n in (1, 2, 7)))
    # torch.export guards the picture's size; below its bound the code may be another branch's.
    with pytest.raises(InvalidInput, match="'W' is 5"):
        ir.compile()(np.zeros((1, 3, 8, 5), "float32"))


@pytest.mark.parametrize("traced", [False, True])
def test_a_decoder_runs_at_every_batch_and_length(traced: bool) -> None:
    net = Decoder().eval()

    def draw(batch: int, length: int) -> tuple[Any, Any]:
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[:, 0] = 0
        return torch.randint(0, 20, (batch, length)), mask

    model = torch.jit.trace(net, draw(2, 5)) if traced else net
    ir = forge.from_torch(model, [("ids", ("N", "L"), "int64"), ("mask", ("N", "L"), torch.int64)])
    assert [spec.name for spec in ir.outputs] == ["output0", "output1", "output2"]
    _check(ir, net, draw(1, 4), draw(2, 3), draw(7, 6))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_equal_eager(kind: Any) -> None:
    net = kind(3, 4, batch_first=True, bidirectional=True).eval()
    ir = forge.from_torch(net, [("x", ("N", 4, 3))])
    _check(ir, net, torch.randn(1, 4, 3), torch.randn(2, 4, 3))


class Structure(nn.Module):
    def forward(self, x: Any, unused: Any, y: Any) -> Any:
        x.add_(1)
        return {"first": (x - y, None, [y * 2]), "y": y}


def test_inputs_keep_their_order_and_outputs_their_names() -> None:
    ir = forge.from_torch(Structure(), [(name, ("N", 4)) for name in ("b", "unused", "a")])
    assert [spec.name for spec in ir.inputs] == ["b", "unused", "a"]
    assert [spec.name for spec in ir.outputs] == ["first.0", "first.2.0", "y"]
    _check(ir, Structure(), tuple(torch.randn(3, 4) for _ in range(3)))


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
def test_dtypes_stay_what_they_are(dtype: str) -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    net = net.to(getattr(torch, dtype)).eval()
    ir = forge.from_torch(net, [("x", ("N", 4), dtype)])
    assert [spec.dtype for spec in (*ir.inputs, *ir.outputs)] == [dtype, dtype]
    if dtype != "bfloat16":
        x = torch.randn(3, 4).to(getattr(torch, dtype))
        _check(ir, net, x, tolerance=1e-12 if dtype == "float64" else 4e-3)


def test_prepare_false_gives_what_tvm_does_alone(capfd: pytest.CaptureFixture[str]) -> None:
    ir = forge.from_torch(nn.Linear(3, 2).eval(), [("x", (1, 3))], prepare=False)
    assert "torch decompositions" not in {step.name for step in ir.history}


LINEAR = nn.Linear(3, 2).eval()


@pytest.mark.parametrize(
    ("model", "info", "message"),
    [
        ("model.pt", [("x", (1, 3))], "is a str"),
        (LINEAR.state_dict(), [("x", (1, 3))], "state_dict"),
        (3, [("x", (1, 3))], "is a int"),
        (LINEAR, None, "input_info is missing"),
        (LINEAR, [("x", (1, 3)), ("y", (1, 3))], "names 2 inputs"),
        (LINEAR, [], "names 0 inputs"),
        (LINEAR, [("x", (1, 4))], "the model itself fails"),
        (LINEAR, [("x", (1, 3), "int64")], "the model itself fails"),
        (torch.jit.script(LINEAR), [("x", (1, 3)), ("y", (1,))], "names 2"),
        (torch.jit.script(LINEAR), [("x", (1, 4))], "the model itself fails"),
        (torch.export.export(LINEAR, (torch.zeros(1, 3),)), [("x", (2, 3))], "is 2, not 1"),
        (torch.export.export(LINEAR, (torch.zeros(1, 3),)), [], "has 1 inputs"),
    ],
)
def test_bad_input_is_one_clear_error(model: Any, info: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        forge.from_torch(model, info)
    assert caught.value.hint


def test_arguments_that_the_loader_sets_are_refused() -> None:
    for name in ("run_ep_decomposition", "custom_convert_map", "nonsense"):
        with pytest.raises(InvalidInput, match=name):
            forge.from_torch(LINEAR, [("x", (1, 3))], frontend_args={name: None})


def test_a_symbolic_dimension_below_its_bound_is_refused_at_run_time() -> None:
    """The export took one side of a branch on the size; below the bound the other one is right."""

    class Branch(torch.nn.Module):
        def forward(self, a: Any) -> Any:
            return a * 2 if a.shape[0] > 3 else a

    executable = forge.from_torch(Branch(), [("a", ("N", 3))]).compile()
    x = np.ones((5, 3), "float32")
    np.testing.assert_array_equal(executable(x), Branch()(torch.from_numpy(x)).numpy())
    with pytest.raises(forge.InvalidInput, match="'N' is 1"):
        executable(x[:1])
