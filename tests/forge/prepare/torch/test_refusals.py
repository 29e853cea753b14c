"""Operators that cannot be loaded right are refused, all at once and by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import forge  # noqa: E402
from forge import UnsupportedOperator  # noqa: E402

nn = torch.nn


@torch.library.custom_op("forge_tests::scale", mutates_args=())
def _scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@torch.library.custom_op("forge_tests::relu", mutates_args=())
def _relu(x: torch.Tensor) -> torch.Tensor:
    return x - 1


_scale.register_fake(lambda x, factor: torch.empty_like(x))
_relu.register_fake(lambda x: torch.empty_like(x))


class Custom(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(_scale(x, 3.0)) + _relu(x)


def test_all_unknown_operators_are_named(module_of: Any) -> None:
    module = module_of(lambda x: torch.fft.fft(x).real + torch.special.i0(x) + torch.rand(3))
    with pytest.raises(UnsupportedOperator) as caught:
        forge.from_torch(module, [("x", (2, 3))])
    assert {"aten::_fft_r2c", "aten::i0", "aten::rand"} <= set(caught.value.operators)


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda x: x[x > 0], "aten::index.Tensor"),
        (lambda x: x * x.sum().item(), "aten::_local_scalar_dense"),
        (
            lambda x: nn.functional.max_pool2d(x[None, None], 2, return_indices=True),
            "aten::max_pool2d_with_indices",
        ),
        (lambda x: nn.functional.dropout(x, 0.5, training=True), "aten::native_dropout"),
        (lambda x: x + torch.randn_like(x), "aten::randn_like"),
        (lambda x: x.t().as_strided((2, 2), (1, 2)), "aten::as_strided"),
    ],
)
def test_what_would_be_wrong_is_refused(module_of: Any, function: Any, operator: str) -> None:
    with pytest.raises(UnsupportedOperator) as caught:
        forge.from_torch(module_of(function), [("x", (4, 4))])
    assert operator in caught.value.operators


def test_a_program_exported_in_training_mode_is_refused_with_its_layers() -> None:
    net = nn.Sequential(nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2), nn.Dropout(0.5)).train()
    program = torch.export.export(net, (torch.zeros(2, 3, 4, 4),))
    with pytest.raises(UnsupportedOperator, match="training mode in layer '1'") as caught:
        forge.from_torch(program)
    assert "layer '2'" in str(caught.value)


def test_an_operator_of_another_library_is_never_taken_for_torch_s_own() -> None:
    with pytest.raises(UnsupportedOperator) as caught:
        forge.from_torch(Custom(), [("x", (2, 3))])
    assert caught.value.operators == ("forge_tests::relu", "forge_tests::scale")


def test_custom_converters_are_used() -> None:
    from tvm import relax

    def scale(_builder: Any, inputs: list[Any], attributes: dict[str, Any]) -> Any:
        return relax.op.multiply(inputs[0], relax.const(attributes["factor"], "float32"))

    def minus_one(_builder: Any, inputs: list[Any], _attributes: dict[str, Any]) -> Any:
        return relax.op.subtract(inputs[0], relax.const(1.0, "float32"))

    def convert(node: Any, importer: Any) -> Any:
        value = scale(None, [importer.env[node.args[0]]], {"factor": node.args[1]})
        return importer.block_builder.emit(value)

    x = np.array([[-2, 1, 3]], np.float32)
    want = np.maximum(x * 3, 0) + x - 1
    for options in (
        {"custom_ops": {"forge_tests::scale": scale, "forge_tests::relu": minus_one}},
        {
            "custom_ops": {"forge_tests::relu": minus_one},
            "custom_convert_map": {"scale.default": convert},
        },
    ):
        ir = forge.from_torch(Custom(), [("x", (1, 3))], **options)
        np.testing.assert_array_equal(ir.compile().run({"x": x})["output0"], want)
