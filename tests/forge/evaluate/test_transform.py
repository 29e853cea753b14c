from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal
from tvm.relax import op

DATA = np.arange(60, dtype="float32").reshape(4, 15)


def test_index_maps_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases = {
        "swapped": (lambda x: op.layout_transform(x, lambda i, j: (j, i)), (DATA,)),
        "packed": (lambda x: op.layout_transform(x, lambda i, j: (i, j // 5, j % 5)), (DATA,)),
        "padded": (
            lambda x: op.layout_transform(x, lambda i, j: (i, j // 4, j % 4), pad_value=-1.0),
            (DATA,),
        ),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert_array_equal(ours, compiled, err_msg=name)
