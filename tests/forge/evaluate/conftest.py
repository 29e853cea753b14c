from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

Case = tuple[Callable[..., Any], Sequence[np.ndarray]]
Results = dict[str, tuple[Any, Any]]


def _emit(builder: Any, name: str, build: Callable[..., Any], arrays: Sequence[np.ndarray]) -> None:
    from tvm import relax

    params = [
        relax.Var(f"{name}_{index}", relax.TensorType(array.shape, str(array.dtype)))
        for index, array in enumerate(arrays)
    ]
    with builder.function(name, params):
        with builder.dataflow():
            result = builder.emit_output(builder.emit(build(*params)))
        builder.emit_func_output(result)


@pytest.fixture(scope="session")
def evaluated() -> Callable[..., Any]:
    """Evaluate one expression with numpy alone: ``evaluated(build, *arrays, width=None)``."""
    from tvm import relax

    from forge.evaluate import evaluate_function

    def run(build: Callable[..., Any], *arrays: np.ndarray, width: Any = None) -> Any:
        builder = relax.BlockBuilder()
        _emit(builder, "main", build, arrays)
        return evaluate_function(builder.get(), arrays, width=width)

    return run


@pytest.fixture(scope="session")
def both_ways() -> Callable[[Mapping[str, Case]], Results]:
    """Evaluate each case with numpy and with TVM's compiled code, which is built once for all."""
    import tvm
    from tvm import relax

    from forge.evaluate import evaluate_function

    def run(cases: Mapping[str, Case]) -> Results:
        builder = relax.BlockBuilder()
        for name, (build, arrays) in cases.items():
            _emit(builder, name, build, arrays)
        module = builder.get()
        machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())

        def to_numpy(result: Any) -> Any:
            if hasattr(result, "numpy"):
                return result.numpy()
            return tuple(map(to_numpy, result))

        return {
            name: (
                evaluate_function(module, arrays, name),
                to_numpy(machine[name](*map(tvm.runtime.tensor, arrays))),
            )
            for name, (_, arrays) in cases.items()
        }

    return run
