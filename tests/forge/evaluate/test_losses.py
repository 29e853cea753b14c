from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(10)
SCORES = np.log(RNG.dirichlet(np.ones(4), (3, 2))).astype("float32").swapaxes(1, 2).copy()
TARGETS = np.array([[0, 3], [1, 1], [2, 0]], "int64")
WEIGHTS = np.array([0.5, 2.0, 1.0, 3.0], "float32")


def nll(reduction: str, ignored: int = -100) -> Any:
    return lambda p, t, *w: op.nn.nll_loss(p, t, *w, reduction=reduction, ignore_index=ignored)


def test_losses_agree_with_compiled_code_and_torch(both_ways) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    cases: dict[str, Any] = {}
    for reduction in ("none", "sum", "mean"):
        for ignored in (-100, 1):
            name = f"{reduction}_{ignored}"
            cases[name] = (nll(reduction, ignored), (SCORES, TARGETS, WEIGHTS))
    cases["unweighted_-100"] = (nll("mean"), (SCORES, TARGETS))
    for name, (ours, compiled) in both_ways(cases).items():
        assert_allclose(ours, compiled, rtol=1e-6, err_msg=name)
        reduction, ignored = name.split("_")
        expected = torch.nn.functional.nll_loss(
            torch.from_numpy(SCORES),
            torch.from_numpy(TARGETS),
            None if reduction == "unweighted" else torch.from_numpy(WEIGHTS),
            ignore_index=int(ignored),
            reduction=reduction.replace("unweighted", "mean"),
        )
        assert_allclose(ours, expected, rtol=1e-6, err_msg=name)


def test_cross_entropy_and_a_single_sample_agree_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    labels = RNG.dirichlet(np.ones(4), 3).astype("float32")
    cases: dict[str, Any] = {
        "batch": (op.nn.cross_entropy_with_logits, (SCORES[..., 0].copy(), labels)),
        "one": (op.nn.cross_entropy_with_logits, (SCORES[0, :, 0].copy(), labels[0])),
        "nll": (nll("mean"), (SCORES[0, :, 0].copy(), np.array(2, "int64"), WEIGHTS)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert_allclose(ours, compiled, rtol=1e-6, err_msg=name)


def test_an_ignored_target_takes_no_part(evaluated) -> None:  # type: ignore[no-untyped-def]
    scores = SCORES.copy()
    scores[1, 1] = -np.inf
    ours = evaluated(nll("sum", 1), scores, TARGETS, WEIGHTS)
    assert np.isfinite(ours)
    assert ours == evaluated(nll("sum", 1), SCORES, TARGETS, WEIGHTS)


def test_a_target_that_is_no_class_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(NotEvaluable, match=r"nll_loss.*range"):
        evaluated(nll("sum"), SCORES, TARGETS + 1)
