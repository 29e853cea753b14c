"""The examples of the loading guide, word for word, on the guide's models."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")


def network() -> Any:
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 16, 3, 2),
        torch.nn.BatchNorm2d(16),
        torch.nn.ReLU(),
        torch.nn.Conv2d(16, 64, 3, 2),
        torch.nn.BatchNorm2d(64),
        torch.nn.ReLU(),
    )
    for layer in model:
        if isinstance(layer, torch.nn.BatchNorm2d):
            with torch.no_grad():
                layer.weight.copy_(torch.randn(layer.num_features, generator=generator))
                layer.bias.copy_(torch.randn(layer.num_features, generator=generator))
                layer.running_mean.copy_(torch.randn(layer.num_features, generator=generator))
                layer.running_var.copy_(torch.rand(layer.num_features, generator=generator) + 0.1)
    return model.eval()


def images(count: int, size: int = 128) -> np.ndarray:
    return np.random.default_rng(count).standard_normal((count, 3, size, size)).astype("float32")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def export(model: Any, **options: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model,
            (torch.from_numpy(images(1)),),
            "model.onnx",
            dynamo=False,
            opset_version=13,
            input_names=["input"],
            output_names=["output"],
            dynamic_axes={"input": {0: "N"}, "output": {0: "N"}},
            **options,
        )


def check(ir: forge.IRModule, model: Any) -> None:
    executable = ir.compile()
    for count in (1, 4):
        x = images(count)
        expected = model(torch.from_numpy(x)).detach().numpy()
        np.testing.assert_allclose(executable(x), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("compile_torch", [torch.jit.trace, torch.jit.script])
def test_onnx_example(compile_torch: Any) -> None:
    model = network()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if compile_torch is torch.jit.trace:
            export(torch.jit.trace(model, torch.from_numpy(images(1))))
        else:
            export(torch.jit.script(model))

    onnx_model = onnx.load("model.onnx")
    ir = forge.from_onnx(onnx_model)

    assert ir.inputs == (forge.TensorSpec("input", ("N", 3, 128, 128), "float32"),)
    check(ir, model)


def test_onnx_export_that_keeps_its_batch_norms() -> None:
    model = network()
    export(model, training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)

    ir = forge.from_onnx(onnx.load("model.onnx"), keep_unfolded=True)

    assert ir.unfolded.script().count("R.nn.batch_norm") == 2
    assert ir.operators["relax.nn.batch_norm"] == 0
    assert ir.operators["relax.nn.conv2d"] == 2
    check(ir, model)


def test_torch_module_folds_its_batch_norms() -> None:
    model = network()

    ir = forge.from_torch(model, [("input0", ("N", 3, 128, 128))], keep_unfolded=True)

    assert ir.unfolded.script().count("R.nn.batch_norm") == 2
    assert ir.operators["relax.nn.batch_norm"] == 0
    check(ir, model)


def test_torchscript_example() -> None:
    model = network()
    torch.jit.save(torch.jit.trace(model, torch.from_numpy(images(1, 224))), "model.pt")

    torch_model = torch.jit.load("model.pt")
    ir = forge.from_torch(torch_model, [("input0", (1, 3, 224, 224))])

    assert ir.inputs == (forge.TensorSpec("input0", (1, 3, 224, 224), "float32"),)
    x = images(1, 224)
    expected = model(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ir.compile()(x), expected, rtol=1e-4, atol=1e-4)


class Foo(torch.autograd.Function):
    """The guide's custom operator, which does nothing."""

    @staticmethod
    def symbolic(graph: Any, x: Any) -> Any:
        return graph.op("devtech::FooOp", x)

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()


class WithFoo(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.network = network()

    def forward(self, x: Any) -> Any:
        return Foo.apply(self.network(x))


class TestCustomOperator:
    @pytest.fixture
    def onnx_model(self) -> Any:
        export(WithFoo().eval())
        return onnx.load("model.onnx")

    def test_is_refused_by_name(self, onnx_model: Any) -> None:
        with pytest.raises(forge.UnsupportedOperator) as caught:
            forge.from_onnx(onnx_model)
        assert caught.value.operators == ("devtech::FooOp",)
        assert "devtech::FooOp" in str(caught.value)

    def test_loads_with_its_definition(self, onnx_model: Any) -> None:
        identity = onnx.helper.make_function(
            "devtech",
            "FooOp",
            ["x"],
            ["y"],
            [onnx.helper.make_node("Identity", ["x"], ["y"])],
            [onnx.helper.make_opsetid("", 13)],
        )
        check(forge.from_onnx(onnx_model, custom_ops={"devtech::FooOp": identity}), network())

    def test_loads_with_a_converter(self, onnx_model: Any) -> None:
        ir = forge.from_onnx(
            onnx_model, custom_ops={"devtech::FooOp": lambda builder, inputs, attrs: inputs[0]}
        )
        check(ir, network())

    def test_loads_after_graphsurgeon_took_it_out(self, onnx_model: Any) -> None:
        surgeon = pytest.importorskip("onnx_graphsurgeon")
        graph = surgeon.import_onnx(onnx_model)
        (node,) = [node for node in graph.nodes if node.op == "FooOp"]
        node.inputs[0].inputs[0].outputs = list(node.outputs)
        node.outputs.clear()
        graph.cleanup()
        with pytest.raises(forge.InvalidInput, match="export_onnx"):
            forge.from_onnx(graph)
        check(forge.from_onnx(surgeon.export_onnx(graph)), network())
