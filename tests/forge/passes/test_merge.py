"""Random layers beside random batch norms: folded and unfolded agree in float64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tvm import relax
from tvm.relax import op

from forge._tvm import constant
from forge.evaluate import evaluate_function
from forge.evaluate.values import array_of
from forge.inspection import count_operators
from forge.passes import bindings
from forge.passes.fold_batch_norm import fold_batch_norm

LAYOUTS = {
    1: (("NCW", "OIW", "IOW"), ("NWC", "WIO", "WIO")),
    2: (("NCHW", "OIHW", "IOHW"), ("NHWC", "HWIO", "HWIO"), ("NCHW", "HWIO", "HWIO")),
    3: (("NCDHW", "OIDHW", "IODHW"), ("NDHWC", "DHWIO", "DHWIO")),
}


@dataclass
class Plan:
    """One layer with batch norms around it."""

    rank: int
    transposed: bool
    layout: tuple[str, str, str]
    groups: int
    per_group: tuple[int, int]
    kernel: int
    stride: int
    dilation: int
    padding: int
    bias: str
    before: bool
    after: str
    seed: int
    dtype: str

    @property
    def foldable(self) -> int:
        """How many batch norms must vanish."""
        uniform = self.padding == 0 and (
            not self.transposed or (self.kernel == 1 and self.stride == 1)
        )
        return (self.before and uniform) + (self.after == "batch_norm")


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    rank = draw(st.sampled_from([1, 2, 3]))
    transposed = draw(st.booleans())
    return Plan(
        rank=rank,
        transposed=transposed,
        layout=draw(st.sampled_from(LAYOUTS[rank])),
        groups=draw(st.sampled_from([1, 2, 3])),
        per_group=(draw(st.integers(1, 3)), draw(st.integers(1, 3))),
        kernel=draw(st.sampled_from([1, 2, 3])),
        stride=draw(st.sampled_from([1, 2])),
        dilation=1 if transposed else draw(st.sampled_from([1, 2])),
        padding=draw(st.sampled_from([0, 1])),
        bias=draw(st.sampled_from(["none", "full", "left", "short"])),
        before=draw(st.booleans()),
        after=draw(st.sampled_from(["none", "batch_norm", "decomposed"])),
        seed=draw(st.integers(0, 2**31)),
        dtype=draw(st.sampled_from(["float32", "float64", "float16"])),
    )


def arrange(letters: str, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(sizes[letter] for letter in letters)


def make(plan: Plan) -> tuple[Any, np.ndarray]:
    rng = np.random.default_rng(plan.seed)
    data_layout, plain, turned = plan.layout
    kernel_layout = turned if plan.transposed else plain
    inputs, outputs = (plan.groups * size for size in plan.per_group)
    spatial = {letter: 6 + index for index, letter in enumerate("DHW")}
    shape = arrange(data_layout, {"N": 2, "C": inputs, **spatial})
    taps = dict.fromkeys("DHW", plan.kernel)
    if plan.transposed:
        letters = {"I": inputs, "O": plan.per_group[1], **taps}
    else:
        letters = {"I": plan.per_group[0], "O": outputs, **taps}
    axis = data_layout.index("C")

    def random(*dims: int) -> np.ndarray:
        return np.asarray(rng.normal(size=dims)).astype(plan.dtype)

    def vector(channels: int) -> np.ndarray:
        dims = [1] * len(shape)
        dims[axis] = channels
        return random(channels).reshape(dims)

    def norm(builder: Any, data: Any, channels: int) -> Any:
        values = [random(channels) for _ in range(3)]
        values.append(rng.uniform(0.05, 4.0, channels).astype(plan.dtype))
        call = op.nn.batch_norm(data, *map(constant, values), axis, training=False)
        return builder.emit(relax.TupleGetItem(builder.emit(call), 0))

    builder = relax.BlockBuilder()
    data = relax.Var("data", relax.TensorType(shape, plan.dtype))
    with builder.function("main", [data]):
        with builder.dataflow():
            out = norm(builder, data, inputs) if plan.before else data
            suffix = "_transpose" if plan.transposed else ""
            layer = getattr(op.nn, f"conv{plan.rank}d{suffix}")
            weight = constant(random(*arrange(kernel_layout, letters)))
            out = builder.emit(
                layer(
                    out,
                    weight,
                    strides=plan.stride,
                    padding=plan.padding,
                    dilation=plan.dilation,
                    groups=plan.groups,
                    data_layout=data_layout,
                    kernel_layout=kernel_layout,
                )
            )
            bias = vector(outputs)
            if plan.bias == "left":
                out = builder.emit(op.add(constant(bias), out))
            elif plan.bias == "short":
                out = builder.emit(op.add(out, constant(bias.reshape(bias.shape[axis:]))))
            elif plan.bias == "full":
                out = builder.emit(op.add(out, constant(bias)))
            if plan.after == "batch_norm":
                out = norm(builder, out, outputs)
            elif plan.after == "decomposed":
                out = builder.emit(op.multiply(out, constant(vector(outputs))))
                out = builder.emit(op.subtract(out, constant(vector(outputs))))
            result = builder.emit_output(builder.emit(op.permute_dims(out)))
        builder.emit_func_output(result)
    return builder.get(), rng.normal(size=shape)


def magnitude(module: Any) -> float:
    """Bound what a sum over all constants of a module can reach, for data of magnitude 1."""
    constants = [
        array_of(leaf).astype("float64")
        for leaf in bindings.leaves(module["main"])
        if not hasattr(leaf, "name")
    ]
    return float(sum(np.abs(array).sum() for array in constants))


def bound(plan: Plan, folded: Any, data: np.ndarray) -> float:
    """Bound what rounding every weight and bias once can do to a result."""
    epsilon = float(np.finfo(plan.dtype).eps)
    # a batch norm that stays before the layer makes its data larger, 1/sqrt(0.05) times |gamma|
    largest = float(np.abs(data).max()) * (20.0 if plan.before else 1.0)
    return epsilon * magnitude(folded) * max(1.0, largest)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans())
def test_random_layers_agree(plan: Plan) -> None:
    module, data = make(plan)
    folded, step = fold_batch_norm(module)
    counts = count_operators(folded)
    norms = plan.before + (plan.after == "batch_norm")
    assert counts["relax.nn.batch_norm"] == norms - plan.foldable, step.details
    assert counts["relax.multiply"] == 0
    assert len(step.details) >= norms

    wide = np.dtype("float64")
    expected = evaluate_function(module, [data], width=wide)
    result = evaluate_function(folded, [data], width=wide)
    assert isinstance(result, np.ndarray)
    assert isinstance(expected, np.ndarray)
    assert np.max(np.abs(result - expected)) <= bound(plan, folded, data)


@pytest.mark.parametrize("transposed", [False, True])
def test_a_swapped_channel_would_be_seen(transposed: bool) -> None:
    """The bound above is far below what a wrong order of channels makes."""
    plan = Plan(
        rank=2,
        transposed=transposed,
        layout=LAYOUTS[2][0],
        groups=3,
        per_group=(2, 3),
        kernel=3,
        stride=1,
        dilation=1,
        padding=1,
        bias="full",
        before=False,
        after="batch_norm",
        seed=3,
        dtype="float32",
    )
    module, data = make(plan)
    folded, _ = fold_batch_norm(module)
    result = evaluate_function(folded, [data], width=np.dtype("float64"))
    assert isinstance(result, np.ndarray)
    difference = np.abs(result - np.flip(result, axis=2)).reshape(-1)
    assert np.median(difference) > 100 * bound(plan, folded, data)
