import numpy as np
import pytest

import forge
from forge.compile.binding import bind_arrays

SPECS = (
    forge.TensorSpec("b", ("N", 3), "float32"),
    forge.TensorSpec("a", ("N",), "int64"),
)


def test_arrays_are_put_into_the_order_of_the_specs() -> None:
    a, b = np.arange(2), np.ones((2, 3), "float32")
    bound = bind_arrays(SPECS, {"a": a, "b": b})
    assert bound[0] is b
    assert bound[1] is a


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"b": np.ones((2, 3), "float32")}, "missing input 'a'"),
        ({"b": np.ones((2, 3), "float32"), "a": np.arange(2), "c": 1}, "unknown input 'c'"),
        ({"b": np.ones((2, 3)), "a": np.arange(2)}, "'b' is float64, not float32"),
        ({"b": np.ones((2, 4), "float32"), "a": np.arange(2)}, r"shape \(2, 4\)"),
        ({"b": np.ones((2, 3, 1), "float32"), "a": np.arange(2)}, r"shape \(2, 3, 1\)"),
        ({"b": np.ones((2, 3), "float32"), "a": np.arange(5)}, "'N' is 2 in input 'b' and 5 in"),
    ],
)
def test_each_fault_is_named(arrays: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(forge.InvalidInput, match=message):
        bind_arrays(SPECS, arrays)


def test_all_faults_are_named_at_once() -> None:
    with pytest.raises(forge.InvalidInput, match=r"unknown input 'x'.*missing input 'a'"):
        bind_arrays(SPECS, {"x": 0, "b": np.ones((1, 3), "float32")})


def test_a_size_below_its_bound_is_named() -> None:
    arrays = {"b": np.ones((2, 3), "float32"), "a": np.arange(2)}
    assert len(bind_arrays(SPECS, arrays, {"N": 2})) == 2
    with pytest.raises(forge.InvalidInput, match=r"'N' is 2 in input 'b'.* right from 3 on"):
        bind_arrays(SPECS, arrays, {"N": 3})


def test_a_symbolic_dimension_of_nothing_is_refused() -> None:
    arrays = {"b": np.ones((0, 3), "float32"), "a": np.arange(0)}
    with pytest.raises(forge.InvalidInput, match="'N' is 0"):
        bind_arrays(SPECS, arrays)
