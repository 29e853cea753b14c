from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable

DATA = np.arange(24, dtype="int64").reshape(2, 3, 4) + 2**53


def test_agrees_bit_for_bit_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    pair = (DATA, -DATA)
    cases = {
        "reshape": (lambda x: op.reshape(x, (4, -1)), (DATA,)),
        "flatten": (op.flatten, (DATA,)),
        "permute": (lambda x: op.permute_dims(x, [2, 0, 1]), (DATA,)),
        "reverse": (op.permute_dims, (DATA,)),
        "expand": (lambda x: op.expand_dims(x, [0, -1]), (DATA,)),
        "squeeze": (lambda x: op.squeeze(x, [1]), (DATA[:, :1],)),
        "squeeze_all": (op.squeeze, (DATA[:1, :1],)),
        "broadcast": (lambda x: op.broadcast_to(x, (2, 3, 4)), (DATA[:, :1],)),
        "concat": (lambda x, y: op.concat([x, y], -1), pair),
        "stack": (lambda x, y: op.stack([x, y], 1), pair),
        "stack_last": (lambda x, y: op.stack([x, y], -1), pair),
        "split": (lambda x: op.split(x, 2, -1), (DATA,)),
        "split_uneven": (lambda x: op.split(x, [1], 1), (DATA,)),
        "repeat": (lambda x: op.repeat(x, 2, 1), (DATA,)),
        "repeat_flat": (lambda x: op.repeat(x, 2), (DATA,)),
        "tile": (lambda x: op.tile(x, (2, 1, 3)), (DATA,)),
        "flip": (lambda x: op.flip(x, 1), (DATA,)),
        "pad": (lambda x: op.nn.pad(x, [0, 0, 1, 2, 0, 3], pad_value=7), (DATA.astype("int32"),)),
        "pad_reflect": (lambda x: op.nn.pad(x, [0, 0, 2, 1, 0, 3], "reflect"), (DATA,)),
        "pad_edge": (lambda x: op.nn.pad(x, [3, 0, 2, 1, 0, 3], "replicate"), (DATA,)),
        "pad_around": (lambda x: op.nn.pad(x, [0, 2, 3, 1, 0, 4], "circular"), (DATA,)),
        "reverse_sequence": (
            lambda x, n: op.reverse_sequence(x, n, 2, 0),
            (DATA, np.array([3, 0], "int32")),
        ),
        "reverse_inner": (
            lambda x, n: op.reverse_sequence(x, n, 0, -1),
            (DATA, np.array([2, 1, 0, 2], "int64")),
        ),
        "collapse": (lambda x: op.collapse_sum_to(x, (3, 1)), (DATA,)),
        "collapse_like": (op.collapse_sum_like, (DATA, DATA[:1, 0, :1].copy())),
        "grid_xy": (lambda x, y: op.meshgrid([x, y], "xy"), (DATA[0, 0], DATA[0, :, 0])),
        "grid": (lambda x, y: op.meshgrid([x, y], "ij"), (DATA[0, 0], DATA[0, :, 0])),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        ours, compiled = (v if isinstance(v, tuple) else (v,) for v in (ours, compiled))
        assert len(ours) == len(compiled), name
        for one, other in zip(ours, compiled, strict=True):
            assert one.dtype == other.dtype, name
            assert_array_equal(one, other, err_msg=name)


def test_a_tuple_can_be_taken_apart(both_ways) -> None:  # type: ignore[no-untyped-def]
    second = both_ways({"second": (lambda x: relax.TupleGetItem(op.split(x, 3, 1), 2), (DATA,))})
    assert_array_equal(*second["second"])


@pytest.mark.parametrize("mode", ["reflect", "circular"])
def test_a_padding_larger_than_the_tensor_is_refused(evaluated, mode: str) -> None:  # type: ignore[no-untyped-def]
    # compiled code reads beyond the tensor
    with pytest.raises(NotEvaluable, match=r"nn\.pad.*larger"):
        evaluated(lambda x: op.nn.pad(x, [0, 0, 0, 0, 5, 0], mode), DATA)


def test_paddings_agree_with_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    data = np.array([[[np.nan, 1.0, -np.inf, 3.0]]], "float32")
    for ours, theirs in (("reflect", "reflect"), ("replicate", "replicate"), ("circular",) * 2):
        expected = torch.nn.functional.pad(torch.from_numpy(data), (3, 2), theirs)
        padded = evaluated(lambda x, m=ours: op.nn.pad(x, [0, 0, 0, 0, 3, 2], m), data)
        assert_array_equal(padded, expected)


def test_pixels_are_shuffled_as_in_torch(evaluated) -> None:  # type: ignore[no-untyped-def]
    # TVM 0.27 cannot compile it: its legalisation calls a function that is not there
    torch = pytest.importorskip("torch")
    data = np.arange(2 * 18 * 2 * 3, dtype="float32").reshape(2, 18, 2, 3)
    expected = torch.nn.functional.pixel_shuffle(torch.from_numpy(data), 3)
    assert_array_equal(evaluated(lambda x: op.nn.pixel_shuffle(x, 3), data), expected)
