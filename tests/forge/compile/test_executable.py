import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge
from forge import _tvm


@pytest.fixture
def ir(relax_module: Callable[..., Any]) -> forge.IRModule:
    """Give x - y and y - x."""
    from tvm import relax

    module = relax_module(
        {"x": (("N", 3), "float32"), "y": (("N", 3), "float32")},
        lambda builder, x, y: relax.Tuple(
            [builder.emit(relax.op.subtract(x, y)), builder.emit(relax.op.subtract(y, x))]
        ),
    )
    specs = [forge.TensorSpec(name, ("N", 3), "float32") for name in ("x", "y", "x - y", "y - x")]
    return forge.IRModule(module, specs[:2], specs[2:])


X = np.array([[1, 2, 3], [4, 5, 6]], "float32")
Y = np.array([[0, 5, 1], [9, 9, 9]], "float32")


def test_run_by_name_and_by_position(ir: forge.IRModule) -> None:
    executable = ir.compile()
    named = executable.run({"y": Y, "x": X})
    assert list(named) == ["x - y", "y - x"]
    np.testing.assert_array_equal(named["x - y"], X - Y)
    first, second = executable(X, Y)
    np.testing.assert_array_equal(first, X - Y)
    np.testing.assert_array_equal(second, Y - X)


def test_wrong_number_of_inputs_is_refused(ir: forge.IRModule) -> None:
    executable = ir.compile()
    for arrays in ([X], [X, Y, Y]):
        with pytest.raises(forge.InvalidInput, match="the model takes 2: x, y"):
            executable(*arrays)


def test_arrays_of_any_memory_order(ir: forge.IRModule) -> None:
    x = np.asfortranarray(X)[::-1]
    np.testing.assert_array_equal(ir.compile()(x, Y)[0], x - Y)


def test_outputs_are_the_callers(ir: forge.IRModule) -> None:
    executable = ir.compile()
    first = executable(X, Y)[0]
    executable(Y, X)
    np.testing.assert_array_equal(first, X - Y)


def test_library_round_trip(ir: forge.IRModule, tmp_path: Path) -> None:
    ir.compile().export_library(tmp_path / "lib.so")
    executable = forge.load_executable(tmp_path / "lib.so")
    assert (executable.inputs, executable.outputs) == (ir.inputs, ir.outputs)
    np.testing.assert_array_equal(executable(X, Y)[1], Y - X)


def test_other_files_are_no_library(tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_bytes(b"text")
    with pytest.raises(forge.InvalidInput, match="not a library"):
        forge.load_executable(tmp_path / "lib.so")
    with pytest.raises(forge.InvalidInput, match="no library"):
        forge.load_executable(tmp_path / "none.so")


def test_library_into_a_missing_folder(ir: forge.IRModule, tmp_path: Path) -> None:
    with pytest.raises(forge.CompileError, match="cannot write"):
        ir.compile().export_library(tmp_path / "none" / "lib.so")


def test_unknown_target_and_level(ir: forge.IRModule) -> None:
    with pytest.raises(forge.InvalidInput, match="not a TVM target"):
        ir.compile("no-such-chip")
    with pytest.raises(forge.InvalidInput, match="baseline, default"):
        ir.compile(opt="fastest")


def test_batch_norm_compiles_with_its_own_statistics(relax_module: Callable[..., Any]) -> None:
    from tvm import relax

    rng = np.random.default_rng(0)
    gamma, beta, mean = (rng.standard_normal(3).astype("float32") for _ in range(3))
    variance = rng.uniform(0.1, 2, 3).astype("float32")

    def body(builder: Any, x: Any) -> Any:
        constants = [_tvm.constant(a) for a in (gamma, beta, mean, variance)]
        result = builder.emit(relax.op.nn.batch_norm(x, *constants, axis=1, training=False))
        return builder.emit(relax.TupleGetItem(result, 0))

    module = relax_module({"x": ((2, 3, 5), "float32")}, body)
    spec = forge.TensorSpec("x", (2, 3, 5), "float32")
    x = rng.standard_normal((2, 3, 5)).astype("float32")
    ours = forge.IRModule(module, [spec], [spec]).compile()(x)
    columns = [a[:, None].astype("float64") for a in (gamma, beta, mean, variance)]
    expected = (x - columns[2]) / np.sqrt(columns[3] + 1e-5) * columns[0] + columns[1]
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="cross-compiling CUDA needs nvcc")
def test_cuda_cross_compiles_and_says_that_there_is_no_device(
    relax_module: Callable[..., Any], tmp_path: Path
) -> None:
    import tvm
    from tvm import relax

    module = relax_module({"x": ((8, 8), "float32")}, lambda b, x: b.emit(relax.op.nn.relu(x)))
    spec = forge.TensorSpec("x", (8, 8), "float32")
    executable = forge.IRModule(module, [spec], [spec]).compile("cuda")
    executable.export_library(tmp_path / "lib.so")
    assert (tmp_path / "lib.so").stat().st_size > 0
    if not tvm.cuda().exist:
        with pytest.raises(forge.RunError, match="no cuda device"):
            executable(np.zeros((8, 8), "float32"))
