from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm.relax import op

from forge.evaluate import NotEvaluable

RNG = np.random.default_rng(4)
IMAGE = RNG.normal(size=(1, 2, 5, 4)).astype("float32")
COUNT = np.arange(20, dtype="float32").reshape(1, 1, 4, 5)
MODES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")


def to(*size: int, **options: Any) -> Any:
    name = "resize3d" if len(size) == 3 else "resize2d"
    return lambda x: getattr(op.image, name)(x, size, **options)


def test_resizing_agrees_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    cases: dict[str, Any] = {}
    for mode, method in product(MODES, ("linear", "cubic")):
        options: Any = {"coordinate_transformation_mode": mode, "method": method}
        cases[f"up_{mode}_{method}"] = (to(7, 9, **options), (IMAGE,))
        cases[f"down_{mode}_{method}"] = (to(3, 2, **options), (IMAGE,))
    for mode, rounding in product(MODES, ("round", "floor", "ceil", "")):
        options = {"coordinate_transformation_mode": mode, "rounding_method": rounding}
        options["method"] = "nearest_neighbor"
        cases[f"nearest_{mode}_{rounding}"] = (to(8, 3, **options), (COUNT,))
    for rounding in ("round_prefer_floor", "round_prefer_ceil"):
        options = {"rounding_method": rounding, "method": "nearest_neighbor"}
        cases[rounding] = (to(2, 10, **options), (COUNT,))
    crop: Any = {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "roi": (0.25, -0.25, 0.75, 1.25),
        "extrapolation_value": -7.0,
    }
    cases["crop"] = (to(3, 6, **crop), (IMAGE,))
    cases["exclude"] = (to(9, 7, method="cubic", cubic_exclude=1, cubic_alpha=-0.5), (IMAGE,))
    last = IMAGE.transpose(0, 2, 3, 1).copy()
    cases["nhwc"] = (to(7, 3, layout="NHWC"), (last,))
    cases["integers"] = (to(7, 9), ((IMAGE * 100).astype("int32"),))
    cases["bytes"] = (to(3, 3, method="nearest_neighbor"), (COUNT.astype("uint8"),))
    volume = RNG.normal(size=(1, 2, 3, 4, 3)).astype("float32")
    cases["volume"] = (to(4, 5, 2), (volume,))
    cases["volume_nearest"] = (to(6, 2, 5, method="nearest_neighbor"), (volume,))
    cases["volume_cubic"] = (to(4, 2, 5, method="cubic"), (volume,))
    for name, (ours, compiled) in both_ways(cases).items():
        assert ours.dtype == compiled.dtype, name
        if name == "integers":
            # -57 is -56.99999 there, and cut to -56
            assert np.max(np.abs(ours - compiled)) <= 1
            continue
        # coordinates, and so the weights of a linear resize, are of float32 there
        assert_allclose(ours, compiled, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("size", [(7, 9), (3, 3), (1, 11)])
@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("method", ["bilinear", "bicubic"])
def test_resizing_agrees_with_torch(  # type: ignore[no-untyped-def]
    evaluated, size: tuple[int, int], align: bool, method: str
) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(IMAGE), size, mode=method, align_corners=align
    )
    mode = "align_corners" if align else "half_pixel"
    build = to(
        *size,
        method="linear" if method == "bilinear" else "cubic",
        coordinate_transformation_mode=mode,
    )
    assert_allclose(evaluated(build, IMAGE), expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("round_prefer_floor", "round_prefer_floor"),
        ("round_prefer_ceil", "round_prefer_ceil"),
        ("floor", "floor"),
        ("ceil", "ceil"),
    ],
)
def test_nearest_agrees_with_onnx(evaluated, ours: str, theirs: str) -> None:  # type: ignore[no-untyped-def]
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    node = onnx.helper.make_node(
        "Resize", ["x", "", "", "sizes"], ["y"], mode="nearest", nearest_mode=theirs
    )
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        "resize",
        [value("x", 1, [1, 1, 4, 5]), value("sizes", 7, [4])],
        [value("y", 1, None)],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 19)])
    sizes = np.array([1, 1, 2, 10], "int64")
    (expected,) = ReferenceEvaluator(model).run(None, {"x": COUNT, "sizes": sizes})
    build = to(2, 10, method="nearest_neighbor", rounding_method=ours)
    assert_array_equal(evaluated(build, COUNT), expected)


def test_coordinates_are_exact(evaluated) -> None:  # type: ignore[no-untyped-def]
    # in float32, 7 * (3 / 7) rounds to a number below 3: floor would pick pixel 2
    line = np.arange(49 * 3, dtype="float32").reshape(1, 1, 1, -1)
    build = to(
        1,
        49 * 7,
        method="nearest_neighbor",
        coordinate_transformation_mode="asymmetric",
        rounding_method="floor",
    )
    expected = np.arange(49 * 7) * 3 // 7
    assert_array_equal(evaluated(build, line)[0, 0, 0], expected.astype("float32"))


def test_linear_weights_are_as_wide_as_asked(evaluated) -> None:  # type: ignore[no-untyped-def]
    data = np.array([[[[0.0, 1.0]]]], "float32")
    wide = evaluated(to(1, 3, coordinate_transformation_mode="asymmetric"), data, width=np.float64)
    assert_array_equal(wide[0, 0, 0], [0.0, 2.0 / 3.0, 1.0])


def test_nearest_moves_any_value(evaluated) -> None:  # type: ignore[no-untyped-def]
    special = np.array([[[[np.nan, np.inf, -0.0]]]], "float32")
    doubled = evaluated(to(1, 6, method="nearest_neighbor"), special)
    assert_array_equal(doubled[0, 0, 0], np.repeat(special, 2))
    large = np.array([[[[2**53 + 1, -(2**62) - 1]]]], "int64")
    doubled = evaluated(to(1, 4, method="nearest_neighbor"), large)
    assert doubled.ravel().tolist() == np.repeat(large, 2).tolist()


def test_a_volume_excludes_what_is_outside_in_each_dimension(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code takes the weights of the depth from those of the width
    volume = RNG.normal(size=(1, 1, 3, 4, 5)).astype("float32")
    options = {"method": "cubic", "cubic_exclude": 1}
    ours = evaluated(to(5, 4, 5, **options), volume)
    planes = volume.reshape(1, 1, 3, 20)
    expected = evaluated(to(5, 20, **options), planes).reshape(1, 1, 5, 4, 5)
    assert_allclose(ours, expected, rtol=1e-6)


def test_one_pixel_is_cropped_from_the_middle(evaluated) -> None:  # type: ignore[no-untyped-def]
    # TVM cannot compile it: it divides by the size less one
    crop: Any = {"coordinate_transformation_mode": "tf_crop_and_resize", "roi": (0, 0, 1, 0.5)}
    expected = (COUNT[0, 0, 1, 1] + COUNT[0, 0, 2, 1]) / 2
    assert evaluated(to(1, 1, **crop), COUNT) == expected


def test_an_unknown_mode_is_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    build = to(2, 2, coordinate_transformation_mode="half_pixel_symmetric")
    with pytest.raises(NotEvaluable, match=r"resize2d.*half_pixel_symmetric"):
        evaluated(build, IMAGE)
