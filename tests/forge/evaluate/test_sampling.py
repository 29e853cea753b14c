from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(5)
IMAGE = RNG.normal(size=(2, 3, 4, 5)).astype("float32")
VOLUME = RNG.normal(size=(1, 2, 3, 4, 2)).astype("float32")
# beyond the image on all sides, by more than its size
GRID = RNG.uniform(-3.5, 3.5, size=(2, 2, 6, 3)).astype("float32")
VOLUME_GRID = RNG.uniform(-1.6, 1.6, size=(1, 3, 2, 3, 4)).astype("float32")
METHODS = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")


def sample(**options: Any) -> Any:
    return lambda x, grid: op.image.grid_sample(x, grid, **options)


def test_sampling_agrees_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases: dict[str, Any] = {}
    # TVM takes twelve seconds to compile each kind of cubic sampling, which torch checks below
    for method, padding, align in product(METHODS[:2], PADDINGS, (False, True)):
        build = sample(method=method, padding_mode=padding, align_corners=align)
        cases[f"{method}_{padding}_{align}"] = (build, (IMAGE, GRID))
    for method, padding in product(METHODS[:2], PADDINGS):
        build = sample(method=method, padding_mode=padding, layout="NCDHW")
        cases[f"volume_{method}_{padding}"] = (build, (VOLUME, VOLUME_GRID))
    for name, (ours, compiled) in both_ways(cases).items():
        # places are computed in float32 there
        assert_allclose(ours, compiled, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("method", METHODS)
def test_sampling_agrees_with_torch(  # type: ignore[no-untyped-def]
    evaluated, method: str, padding: str, align: bool
) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.nn.functional.grid_sample(
        torch.from_numpy(IMAGE),
        torch.from_numpy(GRID.transpose(0, 2, 3, 1).copy()),
        mode=method,
        padding_mode=padding,
        align_corners=align,
    )
    build = sample(method=method, padding_mode=padding, align_corners=align)
    assert_allclose(evaluated(build, IMAGE, GRID), expected, rtol=1e-4, atol=1e-5)


def test_a_line_of_one_pixel_is_reflected_into_itself(evaluated) -> None:  # type: ignore[no-untyped-def]
    data = np.array([[[[3.0]]]], "float32")
    grid = np.array([5.0, -2.0], "float32").reshape(1, 2, 1, 1)
    build = sample(padding_mode="reflection", align_corners=True)
    assert evaluated(build, data, grid) == 3.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_place_that_is_not_finite_is_refused(evaluated, value: float) -> None:  # type: ignore[no-untyped-def]
    grid = np.full((2, 2, 1, 1), value, "float32")
    with pytest.raises(NotEvaluable, match=r"grid_sample.*finite"):
        evaluated(sample(), IMAGE, grid)


def test_affine_grids_agree_with_compiled_code_and_torch(both_ways) -> None:  # type: ignore[no-untyped-def]
    torch = pytest.importorskip("torch")
    flat = RNG.normal(size=(2, 2, 3)).astype("float32")
    solid = RNG.normal(size=(2, 3, 4)).astype("float32")
    cases: dict[str, Any] = {}
    for align in (False, True):
        cases[f"flat_{align}"] = (lambda x, a=align: op.image.affine_grid(x, (3, 5), a), (flat,))
        cases[f"solid_{align}"] = (
            lambda x, a=align: op.image.affine_grid(x, (3, 2, 4), a),
            (solid,),
        )
    for name, (ours, compiled) in both_ways(cases).items():
        # compiled code takes steps of 2 - 1e-7
        assert_allclose(ours, compiled, rtol=1e-5, atol=1e-6, err_msg=name)
        kind, align = name.split("_")
        matrix, size = (flat, (3, 5)) if kind == "flat" else (solid, (3, 2, 4))
        expected = torch.nn.functional.affine_grid(
            torch.from_numpy(matrix), [2, 1, *size], align_corners=align == "True"
        )
        assert_allclose(np.moveaxis(ours, 1, -1), expected, rtol=1e-5, atol=1e-6)


def test_a_grid_leads_back_to_the_image(evaluated) -> None:  # type: ignore[no-untyped-def]
    identity = np.broadcast_to(np.eye(2, 3, dtype="float32"), (2, 2, 3)).copy()
    grid = evaluated(lambda x: op.image.affine_grid(x, IMAGE.shape[2:], False), identity)
    assert_allclose(evaluated(sample(), IMAGE, grid), IMAGE, rtol=1e-5, atol=1e-5)
    wide = evaluated(sample(), IMAGE, grid, width=np.float64)
    assert wide.dtype == np.float64
    assert_array_equal(wide.shape, IMAGE.shape)
