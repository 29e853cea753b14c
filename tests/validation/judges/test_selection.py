from __future__ import annotations

import numpy as np
import pytest

from forge import InvalidInput
from validation.judges.allclose import AllClose
from validation.judges.cosine import Cosine
from validation.judges.exact import Exact
from validation.judges.float64 import Float64
from validation.judges.protocol import Context, Judge
from validation.judges.quantised import Quantised
from validation.judges.relative_l2 import RelativeL2
from validation.judges.selection import default_judge, is_judge, judge_for, parse_judge
from validation.judges.topk import TopK
from validation.judges.ulp import ULP

TEXTS = [
    ("exact", Exact()),
    ("exact:nonfinite=ignore-nan", Exact("ignore-nan")),
    ("allclose", AllClose()),
    ("allclose:rtol=1e-3,atol=1e-5", AllClose(1e-3, 1e-5)),
    ("allclose:atol=0,nonfinite=ignore", AllClose(None, 0, "ignore")),
    ("ulp:4", ULP(4)),
    ("ulp:units=2,nonfinite=ignore", ULP(2, "ignore")),
    ("cosine:0.9999", Cosine(0.9999)),
    ("l2:1e-3", RelativeL2(1e-3)),
    ("topk:5", TopK(5)),
    ("topk:k=3,nonfinite=ignore-nan", TopK(3, "ignore-nan")),
    ("float64", Float64()),
    ("float64:2", Float64(2)),
    ("float64:3,rtol=1e-2,nonfinite=ignore", Float64(3, AllClose(1e-2, None, "ignore"))),
    ("quantised", Quantised()),
    ("quantised:steps=2,share=0.05,scale=0.1", Quantised(2, 0.05, 0.1)),
]


@pytest.mark.parametrize(("text", "judge"), TEXTS)
def test_texts(text: str, judge: Judge) -> None:
    assert parse_judge(text) == judge
    assert is_judge(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no judge ''"),
        ("near", "no judge 'near'"),
        ("Exact", "no judge 'Exact'"),
        ("exact:", "'' is not KEY=VALUE"),
        ("exact:1", "'1' is not KEY=VALUE"),
        ("allclose:1e-3", "'1e-3' is not KEY=VALUE"),
        ("allclose:rtol=1e-3,1e-5", "'1e-5' is not KEY=VALUE"),
        ("allclose:rtol=x", "'x' is no number"),
        ("allclose:rtol=nan", "rtol is nan"),
        ("allclose:rtol=-1", "rtol is -1"),
        ("allclose:rtol=1,rtol=2", "rtol is given twice"),
        ("ulp:4,units=5", "units is given twice"),
        ("allclose:tolerance=1", "allclose has no parameter 'tolerance'"),
        ("ulp:4,rtol=1", "ulp has no parameter 'rtol'"),
        ("cosine:2", "least is 2"),
        ("topk:2.5", "k is 2.5"),
        ("float64:0.5", "factor is 0.5"),
        ("quantised:share=2", "share is 2"),
        ("exact:nonfinite=maybe", "nonfinite is 'maybe'"),
        ("float64:nonfinite=maybe", "nonfinite is 'maybe'"),
    ],
)
def test_a_bad_text_says_what_is_wrong_and_what_there_is(text: str, fault: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_judge(text)
    assert fault in caught.value.message
    assert f"{text!r}" in caught.value.message
    for name in ("exact", "allclose", "ulp", "cosine", "l2", "topk", "float64", "quantised"):
        assert name in str(caught.value.hint)
    assert "rtol=…" in str(caught.value.hint)
    assert "nonfinite" in str(caught.value.hint)


@pytest.mark.parametrize(
    "judge", [Exact("ignore"), AllClose(1e-3, 1e-5), ULP(3), Cosine(0.9), TopK(2), Quantised(2)]
)
def test_what_a_judge_calls_itself_can_be_read_again(judge: Judge) -> None:
    array = np.array([1, 2], "int8")
    assert parse_judge(judge.compare("y", array, array, Context()).judge) == judge


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64"])
def test_the_default_for_floats(dtype: str) -> None:
    assert default_judge(np.dtype(dtype), 1e-3, 1e-5) == Float64(inner=AllClose(1e-3, 1e-5))
    assert default_judge(np.dtype(dtype)) == Float64()


def test_the_default_for_bfloat16_and_4_bit_integers() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    assert default_judge(np.dtype(ml_dtypes.bfloat16)) == Float64()
    assert default_judge(np.dtype(ml_dtypes.int4)) == Exact()


def test_the_default_for_integers_heeds_an_absolute_tolerance_only() -> None:
    integers = np.dtype("int64")
    assert default_judge(integers) == Exact()
    # A hundredth of an index of 30,000 is another word.
    assert default_judge(integers, rtol=1e-2) == Exact()
    assert default_judge(integers, 1e-2, 1.0) == AllClose(0.0, 1.0)
    # Any boolean is within 1 of any other.
    assert default_judge(np.dtype("bool"), None, 1.0) == Exact()


def test_the_judge_of_an_output() -> None:
    floats = np.dtype("float32")
    chosen = {"*": "cosine:0.9", "logits": "topk:3", "near": "allclose:rtol=1", "far": "float64:4"}
    assert judge_for("logits", floats, chosen, None, None) == TopK(3)
    assert judge_for("other", floats, chosen, None, None) == Cosine(0.9)
    assert judge_for("other", floats, {"logits": "topk:3"}, 0.1, None) == default_judge(floats, 0.1)
    assert judge_for("near", floats, chosen, 0.5, 0.25) == AllClose(1, 0.25)
    assert judge_for("far", floats, chosen, 0.5, 0.25) == Float64(4, AllClose(0.5, 0.25))
    assert judge_for("logits", floats, chosen, 0.5, 0.25) == TopK(3)
    with pytest.raises(InvalidInput, match="near"):
        judge_for("x", floats, {"x": "near"}, None, None)
