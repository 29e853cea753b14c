from __future__ import annotations

import warnings
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvm
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.evaluate.values import array_of
from forge.inspection import count_operators
from forge.passes.fold_constants import fold_constants


def returned(module: Any) -> list[np.ndarray]:
    """The values that ``main`` returns, all of which must be constants by now."""
    body = module["main"].body
    value = body.blocks[0].bindings[-1].value if body.blocks else body.body
    fields = list(value.fields) if isinstance(value, tvm.ir.Tuple) else [value]
    assert all(isinstance(field, tvm.ir.GenericConst) for field in fields), module.script()
    return [array_of(field) for field in fields]


def scalar(value: Any, dtype: str = "int64") -> Any:
    return constant(np.array(value, dtype))


def test_three_plus_four_is_seven(module_of: Any) -> None:
    module = module_of(lambda b, _: b.emit(op.add(scalar(3), scalar(4))))
    folded, step = fold_constants(module)
    (result,) = returned(folded)
    assert result.dtype == "int64"
    assert result.item() == 7
    assert step.count == 1
    assert relax.analysis.well_formed(folded) is not False


def test_a_module_of_constants_only_runs(module_of: Any) -> None:
    folded, _ = fold_constants(module_of(lambda b, _: b.emit(op.add(scalar(3), scalar(4)))))
    machine = relax.VirtualMachine(tvm.compile(folded, "llvm"), tvm.cpu())
    assert machine["main"]().numpy().item() == 7


def test_the_module_given_is_not_changed(module_of: Any) -> None:
    module = module_of(lambda b, _: b.emit(op.add(scalar(3), scalar(4))))
    before = module.script(show_meta=True)
    fold_constants(module)
    assert module.script(show_meta=True) == before


def test_nothing_to_fold_gives_the_same_module(module_of: Any) -> None:
    module = module_of(lambda b, x: b.emit(op.add(x[0], x[0])), ((2,), "float32"))
    folded, step = fold_constants(module)
    assert folded.same_as(module)
    assert step.count == 0


def test_integers_above_2_to_the_53_are_exact(module_of: Any) -> None:
    # apache/tvm 20281: folding through float64 was off by one
    large = np.array([2**53 + 1, -(2**62) - 1], "int64")
    module = module_of(lambda b, _: b.emit(op.divide(constant(large), scalar([1, 1]))))
    assert_array_equal(returned(fold_constants(module)[0])[0], large)


def test_a_folded_comparison_is_bool(module_of: Any) -> None:
    # apache/tvm 20282
    module = module_of(lambda b, _: b.emit(op.less(scalar([1, 3]), scalar([2, 2]))))
    (result,) = returned(fold_constants(module)[0])
    assert result.dtype == np.bool_
    assert result.tolist() == [True, False]


def test_integer_shape_arithmetic_stays_integer(module_of: Any) -> None:
    # apache/tvm 19974: Shape -> Gather -> Div(3) folded to 128.67
    def build(builder: Any, params: list[Any]) -> Any:
        shape = builder.emit(op.shape_to_tensor(builder.emit(op.shape_of(params[0]))))
        length = builder.emit(op.take(shape, scalar([0]), 0))
        return builder.emit(op.divide(length, scalar([3])))

    folded, _ = fold_constants(module_of(build, ((386,), "float32")))
    assert returned(folded)[0].tolist() == [128]


@pytest.mark.parametrize("name", ["divide", "floor_divide", "mod", "floor_mod"])
def test_an_integer_division_by_zero_stays(module_of: Any, name: str) -> None:
    module = module_of(lambda b, _: b.emit(getattr(op, name)(scalar([0]), scalar([0]))))
    folded, step = fold_constants(module)
    assert count_operators(folded) == {f"relax.{name}": 1}
    assert "zero" in step.details[0]


def test_what_is_too_large_stays_an_expression(module_of: Any) -> None:
    def build(builder: Any, _: list[Any]) -> Any:
        ones = builder.emit(op.ones((10**9,), "float32"))
        return builder.emit(op.add(ones, constant(np.float32(1))))

    folded, step = fold_constants(module_of(build))
    assert count_operators(folded) == {"relax.ones": 1, "relax.add": 1}
    assert "limit" in step.details[0]


def test_the_growth_limit_is_the_users(module_of: Any) -> None:
    module = module_of(lambda b, _: b.emit(op.zeros((100,), "float32")))
    assert count_operators(fold_constants(module, growth_limit=399)[0])
    assert not count_operators(fold_constants(module, growth_limit=400)[0])


def test_many_results_together_are_bounded(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        rows = [builder.emit(op.full((1000,), scalar(i, "float32"), "float32")) for i in range(300)]
        return [builder.emit(op.add(params[0], row)) for row in rows]

    module = module_of(build, ((1000,), "float32"))
    folded, step = fold_constants(module, growth_limit=4000)
    left = count_operators(folded)["relax.full"]
    assert 300 - 64 - 1 <= left <= 300 - 64
    assert any("together" in line for line in step.details)


def test_shared_constants_stay_shared(module_of: Any) -> None:
    shared = constant(np.arange(6, dtype="float32").reshape(2, 3))

    def build(builder: Any, params: list[Any]) -> Any:
        turned = builder.emit(op.permute_dims(shared))
        one = builder.emit(op.add(params[0], turned))
        return [builder.emit(op.multiply(one, turned)), one]

    folded, _ = fold_constants(module_of(build, ((3, 2), "float32")))
    first, second = folded["main"].body.blocks[0].bindings[:2]
    assert first.value.args[1].same_as(second.value.args[1])


def test_a_result_that_is_its_operand_shares_it(module_of: Any) -> None:
    weight = constant(np.ones((2, 2), "float32"))

    def build(builder: Any, params: list[Any]) -> Any:
        same = builder.emit(op.astype(weight, "float32"))
        return builder.emit(op.add(params[0], same))

    folded, _ = fold_constants(module_of(build, ((2, 2), "float32")))
    assert folded["main"].body.blocks[0].bindings[0].value.args[1].same_as(weight)


def test_tuples_are_looked_through(module_of: Any) -> None:
    def build(builder: Any, params: list[Any]) -> Any:
        parts = builder.emit(op.split(scalar([1.0, 2.0, 3.0, 4.0], "float32"), 2))
        mixed = builder.emit(relax.Tuple([params[0], parts]))
        inner = builder.emit(relax.TupleGetItem(mixed, 1))
        second = builder.emit(relax.TupleGetItem(inner, 1))
        return builder.emit(op.concat([second, second]))

    folded, _ = fold_constants(module_of(build, ((2,), "float32")))
    assert returned(folded)[0].tolist() == [3.0, 4.0, 3.0, 4.0]


def test_an_unknown_operator_is_named(module_of: Any) -> None:
    chances, sample = constant(np.ones((1, 1), "float32")), constant(np.zeros((1, 1), "int64"))
    module = module_of(lambda b, _: b.emit(op.multinomial_from_uniform(chances, chances, sample)))
    folded, step = fold_constants(module)
    assert count_operators(folded) == {"relax.multinomial_from_uniform": 1}
    assert "relax.multinomial_from_uniform" in step.details[0]


def test_branches_fold(module_of: Any) -> None:
    condition = relax.Var("condition", relax.TensorType((), "bool"))
    data = relax.Var("data", relax.TensorType((), "float32"))
    builder = relax.BlockBuilder()

    def side(value: float) -> Any:
        var = relax.Var("sum", relax.TensorType((), "float32"))
        total = builder.normalize(op.add(scalar(value, "float32"), scalar(1, "float32")))
        result = relax.Var("result", relax.TensorType((), "float32"))
        block = relax.BindingBlock(
            [
                relax.VarBinding(var, total),
                relax.VarBinding(result, builder.normalize(op.add(data, var))),
            ]
        )
        return builder.normalize(relax.SeqExpr([block], result))

    with builder.function("main", [condition, data]):
        chosen = builder.emit(relax.If(condition, side(1.0), side(5.0)))
        builder.emit_func_output(chosen)
    module = builder.get()
    folded, step = fold_constants(module)
    assert step.count == 2
    assert count_operators(folded) == {"relax.add": 2}
    machine = relax.VirtualMachine(tvm.compile(folded, "llvm"), tvm.cpu())
    for taken, expected in ((True, 12.0), (False, 16.0)):
        result = machine["main"](
            tvm.runtime.tensor(np.array(taken)), tvm.runtime.tensor(np.float32(10).reshape(()))
        )
        assert result.numpy() == expected


def test_symbolic_shapes_are_left_symbolic(module_of: Any) -> None:
    batch = tvm.tirx.Var("n", "int64")

    def build(builder: Any, params: list[Any]) -> Any:
        bias = builder.emit(op.reshape(scalar([1.0, 2.0], "float32"), (1, 2)))
        total = builder.emit(op.add(params[0], bias))
        return builder.emit(op.reshape(total, (batch * 2,)))

    folded, step = fold_constants(module_of(build, ((batch, 2), "float32")))
    assert step.count == 1
    assert count_operators(folded) == {"relax.add": 1, "relax.reshape": 1}


def test_nan_infinity_and_negative_zero_survive(module_of: Any) -> None:
    special = np.array([np.nan, np.inf, -np.inf, -0.0], "float32")
    module = module_of(lambda b, _: b.emit(op.permute_dims(constant(special.reshape(2, 2)))))
    (result,) = returned(fold_constants(module)[0])
    assert result.tobytes() == special.reshape(2, 2).T.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_round_after_every_operator(module_of: Any, dtype: str) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    one, tiny = (constant(np.array(value, kind)) for value in (1.0, 2.0**-12))

    def build(builder: Any, _: list[Any]) -> Any:
        total = builder.emit(op.add(one, tiny))
        return builder.emit(op.subtract(total, one))

    (result,) = returned(fold_constants(module_of(build))[0])
    assert result.dtype == kind
    assert float(result) == 0.0


def test_a_mean_of_nothing_is_left_without_a_warning(module_of: Any) -> None:
    empty = constant(np.zeros((0,), "float32"))
    module = module_of(lambda b, _: b.emit(op.mean(empty, [0])))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        folded, _ = fold_constants(module)
    assert count_operators(folded) == {"relax.mean": 1}


def test_time_grows_with_the_number_of_bindings_not_of_paths(module_of: Any) -> None:
    """Two readers a level make 2**200 paths; a walk by paths would never end."""

    def build(builder: Any, params: list[Any]) -> Any:
        out = constant(np.ones(2, "float32"))
        for _ in range(200):
            out = builder.emit(op.multiply(out, out))
        return builder.emit(op.add(params[0], out))

    folded, step = fold_constants(module_of(build, ((2,), "float32")))
    assert step.count == 200
    assert count_operators(folded) == {"relax.add": 1}
