from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable
from forge.evaluate.sorting import order

RNG = np.random.default_rng(7)
FLOATS = RNG.normal(size=(3, 4, 5)).astype("float32")
# many equal ones, and numbers that float64 cannot tell apart
TIES = RNG.integers(0, 3, size=(4, 7)).astype("int64") + 2**53
FLAGS = (True, False)


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]


def test_orders_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases: dict[str, Any] = {}
    for down in FLAGS:
        cases[f"sort_{down}"] = (lambda x, d=down: op.sort(x, -1, d), (FLOATS,))
        cases[f"sort_middle_{down}"] = (lambda x, d=down: op.sort(x, 1, d), (FLOATS,))
        cases[f"argsort_{down}"] = (lambda x, d=down: op.argsort(x, 1, d, "int64"), (TIES,))
        cases[f"argsort_first_{down}"] = (lambda x, d=down: op.argsort(x, 0, d), (TIES,))
        for kind in ("both", "values", "indices"):
            cases[f"topk_{kind}_{down}"] = (
                lambda x, d=down, k=kind: op.topk(x, 3, -1, k, d, "int64"),
                (TIES,),
            )
    cases["topk_all"] = (lambda x: op.topk(x, 0, 1), (FLOATS,))
    cases["topk_first"] = (lambda x: op.topk(x, 2, 0), (FLOATS,))
    cases["median"] = (lambda x: op.median(x, [1]), (FLOATS,))
    cases["median_kept"] = (lambda x: op.median(x, [-1], True), (FLOATS,))
    cases["median_even"] = (lambda x: op.median(x, [1]), (TIES.astype("float32"),))
    cases["median_all"] = (op.median, (FLOATS,))
    bounds = np.array([-1.0, -0.5, 0.0, 0.75], "float32")
    values = np.concatenate([bounds, [-3, 3, 0.1]]).astype("float32")
    for right in FLAGS:
        cases[f"bucketize_{right}"] = (
            lambda x, b, r=right: op.bucketize(x, b, out_int32=r, right=r),
            (values, bounds),
        )
    results = both_ways(cases)
    for name, (ours, compiled) in results.items():
        for one, other in zip(flat(ours), flat(compiled), strict=True):
            assert one.dtype == other.dtype, name
            assert_array_equal(one, other, err_msg=name)


def test_unique_and_nonzero_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases: dict[str, Any] = {
        "nonzero": (op.nonzero, (np.array([[0, 3], [-1, 0]], "int32"),)),
        "unique": (op.unique, (TIES,)),
        "unsorted": (lambda x: op.unique(x, sorted=False), (TIES[0],)),
        "everything": (lambda x: op.unique(x, True, True, True, True), (TIES[0],)),
        "everything_unsorted": (lambda x: op.unique(x, False, True, True, True), (TIES[1],)),
        "counts": (lambda x: op.unique(x, return_counts=True), (TIES[2],)),
        "rows": (lambda x: op.unique(x, axis=1), (TIES[:1],)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        for one, other in zip(flat(ours), flat(compiled), strict=True):
            assert one.dtype == other.dtype, name
            assert_array_equal(one, other, err_msg=name)


def test_equal_elements_keep_their_order() -> None:
    ties = np.array([[1, 2, 1, 2, 1]])
    assert_array_equal(order(ties, 1, False), [[0, 2, 4, 1, 3]])
    assert_array_equal(order(ties, 1, True), [[1, 3, 0, 2, 4]])
    lowest = np.array([-128, 127, -128], "int8")
    assert_array_equal(order(lowest, 0, True), [1, 0, 2])


def test_the_largest_agree_with_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    data = FLOATS.copy()
    data[0, 0] = [np.inf, -np.inf, 0.0, 1e38, -1e38]
    for largest in FLAGS:
        values, indices = evaluated(lambda x, a=largest: op.topk(x, 4, 2, "both", a), data)
        expected = torch.topk(torch.from_numpy(data), 4, 2, largest)
        assert_array_equal(values, expected.values)
        assert_array_equal(indices, expected.indices)


def test_a_reverse_of_unique_leads_back(evaluated) -> None:  # type: ignore[no-untyped-def]
    build = lambda x: op.unique(x, False, True, True, True)  # noqa: E731
    values, first, inverse, counts = evaluated(build, TIES)
    assert_array_equal(values[inverse], TIES.ravel())
    assert_array_equal(TIES.ravel()[first], values)
    assert counts.sum() == TIES.size
    assert first.tolist() == sorted(first)


@pytest.mark.parametrize(
    "build",
    [
        op.sort,
        op.argsort,
        op.topk,
        op.median,
        op.unique,
        lambda x: op.bucketize(x, relax.const(np.zeros(1, "float32"))),
    ],
)
def test_an_order_among_nan_is_refused(evaluated, build: Any) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotEvaluable, match="NaN"):
        evaluated(build, np.array([1.0, np.nan], "float32"))


def test_more_than_there_is_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotEvaluable, match="topk"):
        evaluated(lambda x: op.topk(x, 9, 1), TIES)
