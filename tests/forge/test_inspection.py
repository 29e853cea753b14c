from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax import op

from forge.inspection import count_operators


def test_operators_of_all_relax_functions_are_counted() -> None:
    builder = relax.BlockBuilder()
    for name in ("main", "other"):
        data = relax.Var("data", relax.TensorType((2,), "float32"))
        with builder.function(name, [data]):
            with builder.dataflow():
                total = builder.emit(op.add(data, data))
                total = builder.emit(op.add(total, data))
                result = builder.emit_output(builder.emit_te(tvm.topi.nn.relu, total))
            builder.emit_func_output(result)
    assert count_operators(builder.get()) == {"relax.add": 4, "relax.call_tir": 2}
