from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvm
from numpy.testing import assert_allclose, assert_array_equal
from tvm import relax, te, topi

from forge.evaluate import NotEvaluable, evaluate_function
from forge.evaluate.primfunc import evaluate_primfunc, unknown_statements

RNG = np.random.default_rng(15)
DATA = RNG.normal(size=(2, 3, 4)).astype("float32")


def module(arrays: dict[str, np.ndarray], emit: Any, symbolic: bool = False) -> Any:
    """Call functions of TVM's operator library as its frontends do."""
    batch = tvm.tirx.Var("n", "int64")
    params = [
        relax.Var(
            name,
            relax.TensorType(
                [batch, *array.shape[1:]] if symbolic else array.shape, str(array.dtype)
            ),
        )
        for name, array in arrays.items()
    ]
    builder = relax.BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(relax.Tuple(emit(builder, *params)))
    return builder.get()


def agree(built: Any, *arrays: np.ndarray) -> None:
    machine = relax.VirtualMachine(tvm.compile(built, "llvm"), tvm.cpu())
    compiled = machine["main"](*map(tvm.runtime.tensor, arrays))
    ours = evaluate_function(built, arrays)
    assert isinstance(ours, tuple)
    for place, (one, other) in enumerate(zip(ours, compiled, strict=True)):
        assert one.dtype == str(other.dtype), place  # type: ignore[union-attr]
        assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-6, err_msg=str(place))


def test_what_frontends_emit_agrees_with_compiled_code() -> None:
    def emit(builder: Any, x: Any, limit: Any) -> list[Any]:
        call = builder.emit_te
        before, after = (0, 2, 1), (1, 0, 2)
        return [
            call(topi.maximum, x, limit),
            call(topi.minimum, x, limit),
            call(topi.flip, x, axis=-1),
            call(topi.nn.pad, x, before, after, 0.5),
            call(topi.nn.mirror_pad, x, before[::-1], after, "REFLECT"),
            call(topi.nn.replicate_pad, x, before, after),
            call(topi.nn.circular_pad, x, before, after),
            call(topi.tile, x, (2, 1, 3)),
            call(topi.einsum, "bij,bkj->bik", x, x),
            call(topi.nn.softmax, x, 1),
            call(topi.sum, x, [0, 2]),
            call(topi.round, x),
            call(topi.image.resize1d, x, (0.0, 0.0), [7], "NCW", "linear"),
        ]

    limit = np.array(0.25, "float32")
    agree(module({"x": DATA, "limit": limit}, emit), DATA, limit)


def test_symbolic_shapes_and_several_results() -> None:
    def emit(builder: Any, x: Any) -> list[Any]:
        doubled = builder.emit_te(topi.tile, x, (2, 1, 1))
        cut = builder.emit_te(lambda a: topi.split(a, 3, 1), x)
        return [doubled, *(builder.emit(relax.TupleGetItem(cut, place)) for place in range(3))]

    built = module({"x": DATA}, emit, symbolic=True)
    agree(built, DATA)
    agree(built, np.concatenate([DATA, DATA]))


def test_a_scalar_is_an_argument_like_any_other() -> None:
    def scaled(a: Any, factor: Any) -> Any:
        return te.compute(a.shape, lambda i, j, k: a[i, j, k] * factor.astype("float32") + 1)

    def emit(builder: Any, x: Any) -> list[Any]:
        return [builder.emit_te(scaled, x, x.ty.shape[0] * 3)]

    agree(module({"x": DATA}, emit, symbolic=True), DATA)


def test_nan_survives_a_clip() -> None:
    # compiled code makes the limit of it (apache/tvm 19572)
    data, limit = np.array([np.nan, -2.0], "float32"), np.array(0.5, "float32")
    built = module({"x": data, "a": limit}, lambda b, x, a: [b.emit_te(topi.maximum, x, a)])
    assert_array_equal(evaluate_function(built, [data, limit])[0], [np.nan, 0.5])  # type: ignore[index]


def test_floats_are_as_wide_as_asked() -> None:
    built = module({"x": DATA}, lambda b, x: [b.emit_te(topi.sum, x, 2)])
    (wide,) = evaluate_function(built, [DATA], width=np.float64)  # type: ignore[misc]
    assert wide.dtype == np.float64  # type: ignore[union-attr]
    # in order, in float64
    assert_allclose(wide, DATA.astype("float64").sum(2), rtol=1e-15)


def test_reading_beyond_a_buffer_is_refused_by_name() -> None:
    def shifted(a: Any) -> Any:
        return te.compute(a.shape, lambda i, j, k: a[i, j, k + 1], name="shifted")

    built = module({"x": DATA}, lambda b, x: [b.emit_te(shifted, x)])
    with pytest.raises(NotEvaluable, match=r"relax\.call_tir\(shifted\): an index out of range"):
        evaluate_function(built, [DATA])


def test_a_reduction_of_nothing_is_refused() -> None:
    empty = np.zeros((2, 0), "float32")
    built = module({"x": empty}, lambda b, x: [b.emit_te(topi.sum, x, 1)])
    with pytest.raises(NotEvaluable, match=r"call_tir\(sum\)"):
        evaluate_function(built, [empty])


def test_what_is_not_a_nest_of_blocks_is_refused() -> None:
    data, place = DATA[0].copy(), np.zeros((3, 4), "int64")
    built = module(
        {"x": data, "i": place}, lambda b, x, i: [b.emit_te(topi.scatter_elements, x, i, x)]
    )
    assert list(unknown_statements(built["scatter_elements"].body))
    with pytest.raises(NotEvaluable, match=r"call_tir\(scatter_elements\): a statement"):
        evaluate_function(built, [data, place])


def test_parameters_that_do_not_fit_are_refused() -> None:
    function = module({"x": DATA}, lambda b, x: [b.emit_te(topi.exp, x)])["exp"]
    with pytest.raises(NotEvaluable, match="2 parameters"):
        evaluate_primfunc(function, [DATA], results=2)
