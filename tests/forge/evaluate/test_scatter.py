from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(6)
DATA = RNG.normal(size=(3, 4)).astype("float32")
LARGE = RNG.integers(-(2**61), 2**61, size=(3, 4)).astype("int64")
# each row meets one column twice or three times, counted from either end
COLUMNS = np.array([[0, 3, -1], [-4, 0, 0], [2, 1, 2]], "int64")
UPDATES = RNG.normal(size=(3, 3)).astype("float32")
REDUCTIONS = ("update", "add", "mul", "min", "max")


def elements(axis: int, reduction: str) -> Any:
    return lambda x, i, u: op.scatter_elements(x, i, u, axis, reduction)


def slices(reduction: str) -> Any:
    return lambda x, i, u: op.scatter_nd(x, i, u, reduction)


def test_scattering_agrees_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    positions = np.array([[[2, 1], [0, 3]], [[2, 1], [1, 0]]], "int64")
    rows = np.array([[2], [0], [2]], "int64")
    whole = np.array([1, 2, 3, 4], "int64")
    cases: dict[str, Any] = {}
    for name in REDUCTIONS:
        cases[f"elements_{name}"] = (elements(1, name), (DATA, COLUMNS, UPDATES))
        cases[f"large_{name}"] = (elements(-2, name), (LARGE, COLUMNS % 3, LARGE[:, :3].copy()))
        cases[f"slices_{name}"] = (slices(name), (DATA, rows, DATA[::-1].copy()))
        cases[f"points_{name}"] = (slices(name), (DATA, positions, UPDATES[:2, :2].copy()))
    cases["mean"] = (elements(1, "mean"), (DATA, np.array([[1], [3], [-1]]), UPDATES[:, :1].copy()))
    cases["put"] = (
        lambda x, i, j, v: op.index_put(x, (i, j), v),
        (LARGE, np.array([0, -1]), np.array([-4, 2]), whole[:2].copy()),
    )
    cases["put_add"] = (
        lambda x, i, j, v: op.index_put(x, (i, j), v, True),
        (LARGE, np.array([[0], [2]]), np.array([[1, -2]]), whole.reshape(2, 2)),
    )
    for name, options in {
        "plain": (1, 3, 1, 1),
        "stepped": (0, 4, 2, 1),
        "rows": (0, 2, 1, 0),
        "whole": (0, 4, 1, 1),
    }.items():
        first, last, step, axis = options
        shape = list(DATA.shape)
        shape[axis] = len(range(first, last, step))
        source = RNG.normal(size=shape).astype("float32")
        cases[f"slice_{name}"] = (
            lambda x, s, o=options: op.slice_scatter(x, s, o[0], o[1], o[2], o[3]),
            (DATA, source),
        )
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        # sums of three numbers are rounded after each of them there
        assert_allclose(ours, compiled, rtol=1e-6, err_msg=name)
        if ours.dtype.kind == "i":
            assert_array_equal(ours, compiled, err_msg=name)


@pytest.mark.parametrize(("ours", "theirs"), [("add", "sum"), ("mul", "prod"), ("max", "amax")])
def test_reductions_agree_with_torch(evaluated, ours: str, theirs: str) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    updates = UPDATES.copy()
    updates[0, 1] = np.nan
    updates[2, 2] = -np.inf
    places = torch.from_numpy(COLUMNS % 4)
    tensors = torch.from_numpy(DATA.copy()), torch.from_numpy(updates)
    expected = tensors[0].scatter_reduce(1, places, tensors[1], theirs)
    assert_allclose(evaluated(elements(1, ours), DATA, COLUMNS, updates), expected, rtol=1e-6)


def test_the_last_of_several_updates_stays(evaluated) -> None:  # type: ignore[no-untyped-def]
    result = evaluated(elements(1, "update"), DATA, COLUMNS, UPDATES)
    assert result[0, 3] == UPDATES[0, 2]
    assert result[1, 0] == UPDATES[1, 2]
    assert result[2, 2] == UPDATES[2, 2]
    assert result[0, 1] == DATA[0, 1]


def test_sums_are_as_wide_as_asked(evaluated) -> None:  # type: ignore[no-untyped-def]
    one, tiny = np.ones((1, 1), "float32"), np.full((1, 1), 2.0**-30, "float32")
    place = np.zeros((1, 1), "int64")
    assert evaluated(elements(0, "add"), one, place, tiny) == 1.0
    assert evaluated(elements(0, "add"), one, place, tiny, width=np.float64) == 1.0 + 2.0**-30


@pytest.mark.parametrize("index", [-5, 4])
def test_an_index_beyond_the_tensor_is_refused(evaluated, index: int) -> None:  # type: ignore[no-untyped-def]
    column = np.full((3, 1), index, "int64")
    with pytest.raises(NotEvaluable, match=r"relax\.scatter_elements: .*range"):
        evaluated(elements(1, "update"), DATA, column, UPDATES[:, :1].copy())


def test_a_negative_index_of_slices_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code writes before the tensor
    with pytest.raises(NotEvaluable, match="scatter_nd"):
        evaluated(slices("update"), DATA, np.array([[-1]]), DATA[:1].copy())


def test_what_depends_on_an_order_that_is_not_given_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    twice = np.array([1, 1])
    with pytest.raises(NotEvaluable, match=r"index_put.*twice"):
        evaluated(lambda x, i, v: op.index_put(x, (i, i), v), DATA, twice, UPDATES[0, :2].copy())
    with pytest.raises(NotEvaluable, match=r"scatter_elements.*mean"):
        evaluated(elements(1, "mean"), DATA, COLUMNS, UPDATES)


def test_the_operand_stays_as_it_is(evaluated) -> None:  # type: ignore[no-untyped-def]
    before = DATA.copy()
    evaluated(slices("add"), DATA, np.array([[0]]), DATA[:1].copy())
    evaluated(elements(0, "update"), DATA, COLUMNS % 3, UPDATES)
    assert_array_equal(DATA, before)
