"""Compare what Forge makes of a torch function with eager torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")


@pytest.fixture
def module_of() -> Callable[..., Any]:
    """Wrap a function of one, two or three tensors into a module."""

    class One(torch.nn.Module):
        def __init__(self, function: Callable[..., Any]) -> None:
            super().__init__()
            self.function = function

        def forward(self, x: Any) -> Any:
            return self.function(x)

    class Two(One):
        def forward(self, x: Any, y: Any) -> Any:
            return self.function(x, y)

    class Three(One):
        def forward(self, x: Any, y: Any, z: Any) -> Any:
            return self.function(x, y, z)

    return lambda function, count=1: (One, Two, Three)[count - 1](function).eval()


@pytest.fixture
def matches_eager(module_of: Callable[..., Any]) -> Callable[..., Any]:
    """Check values, shapes and dtypes: ``matches_eager(function, *tensors, rtol=, atol=)``."""
    import forge
    from forge.prepare.torch.outputs import flatten_outputs

    def check(function: Any, *tensors: Any, rtol: float = 1e-5, atol: float = 1e-6) -> Any:
        is_module = isinstance(function, torch.nn.Module)
        module = function.eval() if is_module else module_of(function, len(tensors))
        info = [(f"x{i}", tuple(t.shape), t.dtype) for i, t in enumerate(tensors)]
        with torch.no_grad():
            wanted = dict(flatten_outputs(module(*(tensor.clone() for tensor in tensors))))
        ir = forge.from_torch(module, info, fold=False)
        arrays = {f"x{i}": tensor.numpy() for i, tensor in enumerate(tensors)}
        found = ir.compile("llvm").run(arrays)
        assert list(found) == list(wanted)
        for name, tensor in wanted.items():
            want = tensor.numpy()
            assert found[name].dtype == want.dtype
            np.testing.assert_allclose(
                np.asarray(found[name], np.float64),
                np.asarray(want, np.float64),
                rtol=rtol,
                atol=atol,
                err_msg=name,
            )
        return ir

    return check
