"""The input specs of a caller."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from forge import InvalidInput, TensorSpec  # noqa: E402
from forge.prepare.torch.inputs import example_sizes, example_tensors, parse_input_info, symbols  # noqa: E402


def test_dtypes_may_be_left_out_named_or_torch_s_own() -> None:
    specs = parse_input_info(
        [("a", (1, 2)), ("b", ["N", 3], "int64"), ("c", (), torch.bool), ("d", (2,), "torch.half")]
    )
    assert specs == (
        TensorSpec("a", (1, 2), "float32"),
        TensorSpec("b", ("N", 3), "int64"),
        TensorSpec("c", (), "bool"),
        TensorSpec("d", (2,), "float16"),
    )


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ("x", "is a str"),
        ({"x": (1, 2)}, "is a dict"),
        (("x", (1, 2)), "one entry"),
        ([("x",)], "expected"),
        ([(1, (1, 2))], "name"),
        ([("x", 3)], "shape is not a tuple"),
        ([("x", (1, 2.5))], "neither an int nor a name"),
        ([("x", (1, True))], "neither an int nor a name"),
        ([("x", (-1, 2))], "dimension -1"),
        ([("x", ("a b",))], "a b"),
        ([("x", (1,), "floaty")], "dtype"),
        ([("x", (1,), torch.complex64)], "dtype"),
        ([("x", (1,)), ("x", (1,))], "more than once"),
    ],
)
def test_anything_else_is_one_clear_error(info: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        parse_input_info(info)


def test_examples_give_each_symbol_a_size_of_its_own() -> None:
    specs = parse_input_info([("a", ("N", "T")), ("b", ("T", 3), "int64")])
    assert symbols(specs) == ("N", "T")
    for sizes in example_sizes(specs):
        assert min(sizes.values()) >= 2
        assert len(set(sizes.values())) == 2
        first, second = example_tensors(specs, sizes)
        assert first.shape[1] == second.shape[0] == sizes["T"]
        assert second.dtype == torch.int64
