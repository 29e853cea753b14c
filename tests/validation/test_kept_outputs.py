from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from validation.case import BuiltSample, Case
from validation.kept_outputs import Keeping, read_kept


def test_what_a_cell_computed_comes_back(tmp_path: Path, tools: Any) -> None:
    inputs = {"x": np.array([[1, -2, 3], [0.5, 4, -4]], "float32")}
    more = {"x": np.full((4, 3), -1.5, "float32") + np.arange(3, dtype="float32")}
    sample = BuiltSample(tools.onnx_model(), inputs, {}, (more,))
    case = Case("onnx/a/b", "onnx", lambda: sample, latency=False)
    row = Keeping(tmp_path / "kept")(case, "llvm", lambda stage: None, lambda row: None)
    assert row, row
    kept = read_kept(tmp_path / "kept")
    assert kept is not None
    for found, given in zip(kept.inputs, (inputs, more), strict=True):
        np.testing.assert_array_equal(found["x"], given["x"])
    for results in (kept.references, kept.ours):
        for found, given in zip(results, (inputs, more), strict=True):
            np.testing.assert_array_equal(found["y"], np.maximum(given["x"], 0))
    assert kept.operators == {"relax.nn.relu": 1}


def test_a_cell_that_ends_early_keeps_what_there_is(tmp_path: Path, tools: Any) -> None:
    sample = BuiltSample(tools.onnx_model(), {"x": np.zeros((2, 3), "float32")})
    case = Case("onnx/a/b", "onnx", lambda: sample, latency=False)
    row = Keeping(tmp_path / "kept")(case, "llvm", lambda stage: None, lambda row: None)
    assert not row  # vacuous
    kept = read_kept(tmp_path / "kept")
    assert kept is not None
    assert (len(kept.inputs), len(kept.references), len(kept.ours)) == (1, 1, 0)


def test_nothing_was_kept(tmp_path: Path) -> None:
    assert read_kept(tmp_path / "missing") is None
