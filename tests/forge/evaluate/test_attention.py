from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tvm import relax, tirx
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(9)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype("float32")


# batch, sequence, heads, features; as many keys as queries, fewer, and more
QUERY, KEY, VALUE = normal(2, 4, 3, 5), normal(2, 6, 3, 5), normal(2, 6, 3, 2)
BIAS = normal(2, 3, 4, 6)


def attend(**options: Any) -> Any:
    return lambda q, k, v, *bias: op.nn.attention(q, k, v, *bias, **options)


def test_attention_agrees_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    scale = tirx.FloatImm("float32", 0.3)
    few = KEY[:, :3].copy(), VALUE[:, :3].copy()
    cases: dict[str, Any] = {
        "plain": (attend(), (QUERY, KEY, VALUE)),
        "scaled": (attend(scale=scale), (QUERY, KEY, VALUE)),
        "biased": (attend(), (QUERY, KEY, VALUE, BIAS)),
        "broadcast": (attend(), (QUERY, KEY, VALUE, BIAS[:, :1, :1].copy())),
        "square": (attend(causal_mask="TopLeft"), (QUERY, KEY[:, :4].copy(), VALUE[:, :4].copy())),
        "top": (attend(causal_mask="TopLeft"), (QUERY, KEY, VALUE)),
        "bottom": (attend(causal_mask="BottomRight"), (QUERY, KEY, VALUE)),
        "top_few": (attend(causal_mask="TopLeft"), (QUERY, *few)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_allclose(ours, compiled, rtol=1e-5, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_agrees_with_torch(evaluated, causal: bool) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    arrays = QUERY, KEY[:, :4].copy(), VALUE[:, :4].copy()
    heads = [torch.from_numpy(array).transpose(1, 2) for array in arrays]
    expected = torch.nn.functional.scaled_dot_product_attention(*heads, is_causal=causal)
    ours = evaluated(attend(causal_mask="TopLeft" if causal else None), *arrays)
    assert_allclose(ours, expected.transpose(1, 2), rtol=1e-5, atol=1e-5)


def test_what_a_mask_hides_takes_no_part(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code adds nothing of it too, but lets it choose what is subtracted
    key, value = KEY[:, :4].copy(), VALUE[:, :4].copy()
    key[:, 3] = 1e4
    value[:, 3] = 1e30
    hidden = evaluated(attend(causal_mask="TopLeft"), QUERY, key, value)[:, :3]
    shown = attend(causal_mask="TopLeft")
    expected = evaluated(shown, QUERY[:, :3].copy(), KEY[:, :3].copy(), VALUE[:, :3].copy())
    assert_allclose(hidden, expected, rtol=1e-6)


def test_sequences_of_their_own_length_do_not_see_one_another(evaluated) -> None:  # type: ignore[no-untyped-def]
    starts, key_starts = np.array([0, 1, 4], "int32"), np.array([0, 2, 6], "int32")
    longest = np.array(4, "int32")

    def build(q: Any, k: Any, v: Any) -> Any:
        limits = [relax.const(value) for value in (starts, longest, key_starts, longest)]
        return op.nn.attention_var_len(q, k, v, *limits)

    query, key, value = QUERY[:1], KEY[:1], VALUE[:1]
    ours = evaluated(build, query, key, value)
    first = evaluated(attend(), query[:, :1].copy(), key[:, :2].copy(), value[:, :2].copy())
    second = evaluated(attend(), query[:, 1:].copy(), key[:, 2:].copy(), value[:, 2:].copy())
    assert_allclose(ours, np.concatenate([first, second], 1), rtol=1e-6)


def test_a_sliding_window_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotEvaluable, match=r"attention.*window"):
        evaluated(attend(causal_mask="TopLeft", window_size=2), QUERY, KEY, VALUE)
