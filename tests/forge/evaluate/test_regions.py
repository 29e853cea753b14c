from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(13)
IMAGE = RNG.normal(size=(2, 3, 6, 7)).astype("float32")
# inside, across each border, smaller than a pixel, far outside
REGIONS = np.array(
    [
        [0, 1.2, 0.7, 9.3, 8.1],
        [1, -3.0, -2.0, 5.0, 20.0],
        [1, 4.1, 4.1, 4.3, 4.3],
        [0, 30.0, 30.0, 40.0, 40.0],
    ],
    "float32",
)


def align(**options: Any) -> Any:
    return lambda x, r: op.vision.roi_align(x, r, (2, 3), 0.5, **options)


def test_regions_are_pooled_as_in_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    last = IMAGE.transpose(0, 2, 3, 1).copy()
    # without a lower limit of one pixel, a region may have no sample at all
    large = REGIONS[:2].copy()
    cases: dict[str, Any] = {
        "align": (align(), (IMAGE, REGIONS)),
        "ratio": (align(sample_ratio=3), (IMAGE, REGIONS)),
        "aligned": (align(aligned=True), (IMAGE, large)),
        "largest": (align(mode="max", sample_ratio=2), (IMAGE, REGIONS)),
        "nhwc": (align(layout="NHWC"), (last, REGIONS)),
        "pool": (lambda x, r: op.vision.roi_pool(x, r, (2, 3), 0.5), (IMAGE, REGIONS)),
        "pool_one": (lambda x, r: op.vision.roi_pool(x, r, 1, 1.0), (IMAGE, REGIONS)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        assert_allclose(ours, compiled, rtol=1e-4, atol=1e-5, err_msg=name)


def test_alignment_agrees_with_onnx(evaluated) -> None:  # type: ignore[no-untyped-def]
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    node = onnx.helper.make_node(
        "RoiAlign",
        ["x", "rois", "entries"],
        ["y"],
        output_height=2,
        output_width=3,
        sampling_ratio=2,
        spatial_scale=0.5,
        coordinate_transformation_mode="output_half_pixel",
    )
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "roi",
        [value("x", 1, IMAGE.shape), value("rois", 1, [4, 4]), value("entries", 7, [4])],
        [value("y", 1, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 16)])
    feeds = {"x": IMAGE, "rois": REGIONS[:, 1:], "entries": REGIONS[:, 0].astype("int64")}
    (expected,) = ReferenceEvaluator(model).run(None, feeds)
    ours = evaluated(align(sample_ratio=2), IMAGE, REGIONS)
    assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def test_an_empty_bin_is_zero_and_nan_spoils_its_own(evaluated) -> None:  # type: ignore[no-untyped-def]
    image = IMAGE.copy()
    image[0, 0, 0, 0] = np.nan
    regions = np.array([[0, 0, 0, 1, 1], [0, 30, 30, 40, 40]], "float32")
    pooled = evaluated(lambda x, r: op.vision.roi_pool(x, r, (1, 1), 1.0), image, regions)
    assert np.isnan(pooled[0, 0, 0, 0])
    assert_array_equal(pooled[0, 1, 0, 0], image[0, 1, :2, :2].max())
    assert_array_equal(pooled[1], np.zeros((3, 1, 1), "float32"))


@pytest.mark.parametrize("entry", [-1.0, 2.0, np.nan])
def test_a_region_of_no_image_is_refused(evaluated, entry: float) -> None:  # type: ignore[no-untyped-def]
    regions = np.array([[entry, 0, 0, 1, 1]], "float32")
    with pytest.raises(NotEvaluable, match="roi_align"):
        evaluated(align(), IMAGE, regions)
