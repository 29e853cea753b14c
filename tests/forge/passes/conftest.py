from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

Builder = Callable[[Any, list[Any]], Any]


@pytest.fixture(scope="session")
def module_of() -> Callable[..., Any]:
    """Build a module whose ``main`` takes tensors and returns what ``build(builder, params)`` does.

    ``build`` emits with ``builder.emit`` and may return a variable or a list of them.
    """
    from tvm import relax

    def make(build: Builder, *params: tuple[Sequence[Any], str]) -> Any:
        builder = relax.BlockBuilder()
        variables = [
            relax.Var(f"x{index}", relax.TensorType(shape, dtype))
            for index, (shape, dtype) in enumerate(params)
        ]
        with builder.function("main", variables):
            with builder.dataflow():
                result = build(builder, variables)
                if isinstance(result, list):
                    result = relax.Tuple(result)
                output = builder.emit_output(result)
            builder.emit_func_output(output)
        return builder.get()

    return make
