"""Symbolic dimensions under the caller's names."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import forge  # noqa: E402
from forge import InvalidInput, TensorSpec  # noqa: E402
from forge.prepare.torch.symbolic_names import match_inputs  # noqa: E402

OWN = (TensorSpec("a", ("s0", 3), "float32"), TensorSpec("b", ("s0", "s1"), "int64"))


def test_the_caller_names_the_symbols() -> None:
    given = (TensorSpec("x", ("N", 3), "float32"), TensorSpec("y", ("N", "L"), "int64"))
    assert match_inputs(OWN, given) == {"s0": "N", "s1": "L"}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([("N", 3)], "has 2 inputs"),
        ([("N", 4), ("N", "L")], "dimension 1 is 4, not 3"),
        ([(2, 3), ("N", "L")], "dimension 0 is 2"),
        ([("N", "C"), ("N", "L")], "'C', not 3"),
        ([("N", 3), ("M", "L")], "both 'N' and 'M'"),
        ([("N", 3), ("N", "N")], "one name stands for two"),
        ([("N", 3), ("N",)], "rank 1 is not 2"),
    ],
)
def test_a_disagreement_is_one_clear_error(
    given: list[tuple[int | str, ...]], message: str
) -> None:
    specs = [
        TensorSpec(f"x{i}", shape, dtype)
        for i, (shape, dtype) in enumerate(zip(given, ("float32", "int64"), strict=False))
    ]
    with pytest.raises(InvalidInput, match=message):
        match_inputs(OWN, specs)


def test_a_program_keeps_its_symbols_under_the_given_name() -> None:
    batch = torch.export.Dim("batch")
    net = torch.nn.Linear(3, 2).eval()
    program = torch.export.export(net, (torch.zeros(2, 3),), dynamic_shapes=({0: batch},))
    ir = forge.from_torch(program, [("x", ("N", 3))])
    assert ir.inputs == (TensorSpec("x", ("N", 3), "float32"),)
    assert ir.outputs == (TensorSpec("output0", ("N", 2), "float32"),)
    assert set(ir.module["main"].attrs["tir_var_lower_bound"]) == {"N"}
