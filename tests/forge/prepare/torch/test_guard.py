"""A converter whose result is not what torch says is found out."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import forge  # noqa: E402
from forge import LoadError, UnsupportedOperator  # noqa: E402


def _load(module: Any, converter: Any) -> Any:
    return forge.from_torch(module, [("x", (2, 3))], custom_convert_map={"tanh.default": converter})


def test_a_wrong_shape_is_refused(module_of: Any) -> None:
    def wrong(node: Any, importer: Any) -> Any:
        from tvm import relax

        return importer.block_builder.emit(relax.op.sum(importer.env[node.args[0]], 0))

    with pytest.raises(UnsupportedOperator, match=r"shape \(3\), torch says \(2, 3\)") as caught:
        _load(module_of(torch.tanh), wrong)
    assert caught.value.operators == ("aten::tanh",)


def test_a_wrong_dtype_is_refused(module_of: Any) -> None:
    def wrong(node: Any, importer: Any) -> Any:
        from tvm import relax

        return importer.block_builder.emit(relax.op.astype(importer.env[node.args[0]], "float16"))

    with pytest.raises(UnsupportedOperator, match="float16, torch says float32"):
        _load(module_of(torch.tanh), wrong)


def test_a_failing_converter_is_named_with_its_layer() -> None:
    def broken(_node: Any, _importer: Any) -> Any:
        raise KeyError("lost")

    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh())
    with pytest.raises(LoadError, match="aten::tanh in layer '1' failed: KeyError") as caught:
        _load(net, broken)
    assert isinstance(caught.value.__cause__, KeyError)


def test_converters_run_inside_branches(module_of: Any) -> None:
    """TVM calls them without the importer there."""
    import numpy as np

    module = module_of(
        lambda x: torch.cond(
            x.sum() > 0, lambda y: (y[:, -1:].tanh(),), lambda y: (y[:, :1] - 1,), (x,)
        )
    )
    exe = forge.from_torch(module, [("x", (1, 3))]).compile()
    for sign in (1, -1):
        x = np.array([[1, 2, 3]], np.float32) * sign
        (want,) = module(torch.from_numpy(x))
        np.testing.assert_allclose(exe.run({"x": x})["output0"], want.numpy(), rtol=1e-6)
