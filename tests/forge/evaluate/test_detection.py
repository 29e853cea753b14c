from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tvm import relax
from tvm.relax import op

from forge.evaluate import NotEvaluable
from forge.evaluate.detection import overlaps

RNG = np.random.default_rng(12)
BOXES = 9


def boxes(count: int, scores: np.ndarray) -> np.ndarray:
    """Class, score and two corners; many overlap."""
    corners = RNG.uniform(0, 4, (count, 2))
    sizes = RNG.uniform(1, 3, (count, 2))
    classes = RNG.integers(0, 2, count)
    return np.column_stack([classes, scores, corners, corners + sizes]).astype("float32")


SCORES = RNG.permutation(np.linspace(-0.2, 0.9, BOXES))
DATA = np.stack([boxes(BOXES, SCORES), boxes(BOXES, SCORES[::-1])])
INDICES = np.tile(RNG.permutation(BOXES).astype("int32"), (2, 1))
COUNTS = np.array([BOXES, 6], "int32")


def suppress(**options: Any) -> Any:
    return lambda x, n, i: op.vision.non_max_suppression(x, n, i, **options)


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]


def test_suppression_agrees_with_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    inputs = DATA, COUNTS, INDICES
    soft: Any = {"soft_nms_sigma": 0.5, "score_threshold": 0.1, "iou_threshold": 0.6}
    cases: dict[str, Any] = {
        "classes": (suppress(iou_threshold=0.2), inputs),
        "forced": (suppress(iou_threshold=0.2, force_suppress=True), inputs),
        "one_kind": (suppress(iou_threshold=0.2, id_index=-1), inputs),
        "limited": (suppress(iou_threshold=0.2, max_output_size=2), inputs),
        "top": (suppress(iou_threshold=0.2, top_k=3), inputs),
        "data": (suppress(iou_threshold=0.2, return_indices=False), inputs),
        "bottom": (
            suppress(iou_threshold=0.2, return_indices=False, invalid_to_bottom=True),
            inputs,
        ),
        "soft": (suppress(**soft), inputs),
        "soft_forced": (suppress(**soft, force_suppress=True, max_output_size=3), inputs),
        "soft_data": (suppress(**soft, return_indices=False), inputs),
        "valid": (lambda x: op.vision.get_valid_counts(x, 0.3), (DATA,)),
        "valid_any": (lambda x: op.vision.get_valid_counts(x, 0.0, -1), (DATA,)),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        for one, other in zip(flat(ours), flat(compiled), strict=True):
            assert one.dtype == other.dtype, name
            # scores that decay are multiplied in float32 there
            assert_allclose(one, other, rtol=1e-5, err_msg=name)


def all_classes(limit: int, share: float, floor: float, layout: str = "onnx") -> Any:
    limits = [relax.const(limit, "int64"), relax.const(share), relax.const(floor)]
    return lambda b, s: op.vision.all_class_non_max_suppression(b, s, *limits, layout)


def test_classes_are_suppressed_apart_as_in_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    scores = RNG.permutation(np.linspace(0.05, 0.95, 2 * 3 * BOXES)).astype("float32")
    inputs = DATA[..., 2:].copy(), scores.reshape(2, 3, BOXES)
    cases: dict[str, Any] = {
        "onnx": (all_classes(4, 0.3, 0.2), inputs),
        "one": (all_classes(1, 0.3, 0.0), inputs),
        "none": (all_classes(4, 0.3, 0.99), inputs),
        "tensorflow": (all_classes(BOXES, 0.3, 0.2, "tensorflow"), inputs),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        for one, other in zip(ours, compiled, strict=True):
            assert one.dtype == other.dtype, name
            assert_array_equal(one, other, err_msg=name)


def test_a_share_of_zero_lets_boxes_apart_stand(evaluated) -> None:  # type: ignore[no-untyped-def]
    # compiled code chooses nothing then
    apart = np.array([[[0, 0, 1, 1], [2, 2, 3, 3], [0.5, 0.5, 2.5, 2.5]]], "float32")
    scores = np.array([[[0.9, 0.8, 0.7]]], "float32")
    chosen, total = evaluated(all_classes(9, 0.0, 0.0), apart, scores)
    assert chosen.tolist() == [[0, 0, 0], [0, 0, 1]]
    assert total.tolist() == [2]


def test_overlaps_are_shares_of_the_union() -> None:
    box = np.array([2.0, 2.0, 0.0, 0.0])
    others = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [2, 2, 4, 4], [1, 1, 1, 1]], float)
    assert_allclose(overlaps(box, others), [1.0, 1 / 7, 0.0, 0.0])
    assert_array_equal(overlaps(others[3], others[3:]), [0.0])


def test_scores_of_nan_are_refused(evaluated) -> None:  # type: ignore[no-untyped-def]
    data = DATA.copy()
    data[0, 0, 1] = np.nan
    with pytest.raises(NotEvaluable, match=r"non_max_suppression.*NaN"):
        evaluated(suppress(), data, COUNTS, INDICES)


def test_anchors_are_moved_as_in_compiled_code(both_ways) -> None:  # type: ignore[no-untyped-def]
    logits = RNG.normal(size=(2, 3, 4)).astype("float32")
    offsets = RNG.normal(size=(2, 16)).astype("float32")
    corners = RNG.uniform(0, 0.5, (4, 2))
    anchors = np.concatenate([corners, corners + 0.3], 1)[None].astype("float32")

    def decode(**options: Any) -> Any:
        return lambda c, o, a: op.vision.multibox_transform_loc(c, o, a, **options)

    inputs = logits, offsets, anchors
    cases: dict[str, Any] = {
        "plain": (decode(variances=(0.1, 0.2, 0.3, 0.4)), inputs),
        "clipped": (decode(clip=True, threshold=0.3, keep_background=False), inputs),
        "scores": (decode(apply_softmax=False, threshold=0.2), inputs),
    }
    for name, (ours, compiled) in both_ways(cases).items():
        for one, other in zip(ours, compiled, strict=True):
            assert_allclose(one, other, rtol=1e-5, atol=1e-6, err_msg=name)
