from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal
from tvm import relax
from tvm.relax import op

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
