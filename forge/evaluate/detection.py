"""Turn the scores and boxes of an object detector into detections, in float64.

NaN among the scores has no place in an order and is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from forge.evaluate.registry import Invocation, operator
from forge.evaluate.sorting import order, ordered
from forge.evaluate.values import Value


def overlaps(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Divide intersection by union, of one box with others; corners in any order."""
    low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
    lows = np.minimum(others[:, :2], others[:, 2:])
    highs = np.maximum(others[:, :2], others[:, 2:])
    sides = np.maximum(np.minimum(high, highs) - np.maximum(low, lows), 0.0)
    common = sides.prod(axis=1)
    union = (high - low).prod() + (highs - lows).prod(axis=1) - common
    return np.where(union <= 0, 0.0, common / np.where(union <= 0, 1.0, union))


@operator("vision.get_valid_counts")
def get_valid_counts(call: Invocation) -> Value:
    """Move the boxes whose score is over a threshold to the front, and count them."""
    data, attrs = call.array(0), call.attrs
    scores = ordered(data[..., int(attrs.score_index)])
    valid = scores > float(attrs.score_threshold)
    if int(attrs.id_index) >= 0:
        valid &= data[..., int(attrs.id_index)] >= 0
    boxes = np.full_like(data, -1)
    indices = np.full(scores.shape, -1, np.int32)
    for entry, kept in enumerate(valid):
        places = np.flatnonzero(kept)
        boxes[entry, : len(places)] = data[entry, places]
        indices[entry, : len(places)] = places
    return valid.sum(axis=1).astype(np.int32), boxes, indices


class _Suppression:
    """Non-maximum suppression of the boxes of one batch entry, best first."""

    def __init__(self, boxes: np.ndarray, sources: np.ndarray, attrs: Any) -> None:
        self.boxes = boxes
        self.sources = sources
        self.count = 0
        self._attrs = attrs
        self._limit = int(attrs.max_output_size)
        self._alive = np.ones(len(boxes), bool)

    def _is_full(self) -> bool:
        return 0 < self._limit <= self.count

    def _rivals(self, place: int, floor: float) -> tuple[np.ndarray, np.ndarray]:
        """Find the boxes behind one that may not stand beside it, and how far they overlap."""
        attrs, start = self._attrs, int(self._attrs.coord_start)
        rivals = self._alive & (self.boxes[:, int(attrs.score_index)] > floor)
        rivals[: place + 1] = False
        kind = int(attrs.id_index)
        if not attrs.force_suppress and kind >= 0:
            rivals &= self.boxes[:, kind] == self.boxes[place, kind]
        places = np.flatnonzero(rivals)
        corners = self.boxes[:, start : start + 4]
        return places, overlaps(corners[place], corners[places])

    def hard(self) -> None:
        """Drop what overlaps a better box."""
        score = int(self._attrs.score_index)
        for place in range(len(self.boxes)):
            if not self._alive[place] or self.boxes[place, score] <= 0 or self._is_full():
                self._alive[place] = False
                continue
            self.count += 1
            rivals, shares = self._rivals(place, 0.0)
            self._alive[rivals[shares >= float(self._attrs.iou_threshold)]] = False
        self.boxes[~self._alive] = -1
        self.sources = np.where(self._alive, self.sources, -1)

    def soft(self) -> None:
        """Lower the score of what overlaps a better box, and choose anew each time."""
        score, floor = int(self._attrs.score_index), float(self._attrs.score_threshold)
        decay = -0.5 / float(self._attrs.soft_nms_sigma)
        while self.count < len(self.boxes) and not self._is_full():
            scores = np.where(self._alive, self.boxes[:, score], -np.inf)
            best = self.count + int(np.argmax(scores[self.count :]))
            if not scores[best] > floor:
                break
            swap = [self.count, best]
            self.boxes[swap] = self.boxes[swap[::-1]]
            self.sources[swap] = self.sources[swap[::-1]]
            self._alive[swap] = self._alive[swap[::-1]]
            rivals, shares = self._rivals(self.count, floor)
            self.boxes[rivals, score] *= np.exp(decay * shares * shares)
            near = shares >= float(self._attrs.iou_threshold)
            self._alive[rivals[near | (self.boxes[rivals, score] <= floor)]] = False
            self.count += 1
        self.boxes[self.count :] = -1
        self.sources[self.count :] = -1


def _filled(rows: np.ndarray, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Put rows at the front of a tensor of -1."""
    result = np.full(shape, -1, dtype)
    result[: len(rows)] = rows
    return result


@operator("vision.non_max_suppression")
def non_max_suppression(call: Invocation) -> Value:
    """Drop boxes, or lower their scores, that overlap a better one of the same class."""
    data, counts, indices, attrs = call.array(0), call.array(1), call.array(2), call.attrs
    soft, score = float(attrs.soft_nms_sigma) > 0, int(attrs.score_index)
    boxes, chosen, totals = [], [], []
    for entry, count, sources in zip(data, counts, indices, strict=True):
        kept = int(count)
        sorting = order(entry[:kept, score], 0, True)
        if 0 < int(attrs.top_k) < kept:
            sorting = sorting[: int(attrs.top_k)]
        run = _Suppression(entry[sorting].astype(np.float64), sorting.copy(), attrs)
        (run.soft if soft else run.hard)()
        places = run.sources[run.sources >= 0]
        rows = run.boxes
        if attrs.invalid_to_bottom and not attrs.return_indices:
            rows = rows[rows[:, score] >= 0]
        boxes.append(_filled(rows, entry.shape, data.dtype))
        chosen.append(_filled(sources[places], sources.shape, np.dtype(np.int32)))
        totals.append([len(places)])
    if not attrs.return_indices:
        return np.stack(boxes)
    found = (np.stack(chosen), np.asarray(totals, np.int32))
    return (np.stack(boxes), *found) if soft else found


def _select(
    boxes: np.ndarray, scores: np.ndarray, limit: int, share: float, floor: float
) -> list[int]:
    """Choose boxes of one class, best first, as ONNX NonMaxSuppression does."""
    candidates = order(scores, 0, True)
    candidates = candidates[scores[candidates] > floor]
    chosen: list[int] = []
    while len(candidates) and len(chosen) < limit:
        best, candidates = candidates[0], candidates[1:]
        chosen.append(int(best))
        candidates = candidates[overlaps(boxes[best], boxes[candidates]) <= share]
    return chosen


@operator("vision.all_class_non_max_suppression")
def all_class_non_max_suppression(call: Invocation) -> Value:
    """Choose boxes class by class; those that overlap a better one by more than a share go.

    As ONNX has it, a box goes that overlaps by more than the share; compiled code drops one
    that overlaps by just as much too, and chooses nothing at a share of zero.
    """
    boxes, scores = call.array(0).astype(np.float64), call.array(1)
    limit, share, floor = (call.scalar(index) for index in (2, 3, 4))
    batch, classes, count = scores.shape
    chosen = [
        [
            _select(boxes[entry], scores[entry, kind], int(limit), share, floor)
            for kind in range(classes)
        ]
        for entry in range(batch)
    ]
    if str(call.attrs.output_format) == "onnx":
        rows = [
            (entry, kind, box)
            for entry in range(batch)
            for kind in range(classes)
            for box in chosen[entry][kind]
        ]
        return np.asarray(rows, np.int64).reshape(-1, 3), np.asarray([len(rows)], np.int64)
    indices = np.zeros((batch, classes * count, 2), np.int64)
    best = np.zeros((batch, classes * count), scores.dtype)
    totals = np.zeros(batch, np.int64)
    for entry in range(batch):
        pairs = [(kind, box) for kind in range(classes) for box in chosen[entry][kind]]
        for row, (kind, box) in enumerate(pairs):
            indices[entry, row] = kind, box
            best[entry, row] = scores[entry, kind, box]
        totals[entry] = len(pairs)
    return indices, best, totals


@operator("vision.multibox_transform_loc")
def multibox_transform_loc(call: Invocation) -> Value:
    """Move anchors by predicted offsets into boxes, and turn logits into scores."""
    attrs, dtype = call.attrs, call.array(0).dtype
    scores, offsets, anchors = (call.array(index).astype(np.float64) for index in range(3))
    x, y, width, height = np.moveaxis(offsets.reshape(len(offsets), -1, 4), -1, 0)
    left, top, right, bottom = np.moveaxis(anchors[0], -1, 0)
    by_x, by_y, by_width, by_height = (float(value) for value in attrs.variances)
    centre_y = y * by_y * (bottom - top) + (top + bottom) / 2
    centre_x = x * by_x * (right - left) + (left + right) / 2
    half_height = np.exp(height * by_height) * (bottom - top) / 2
    half_width = np.exp(width * by_width) * (right - left) / 2
    boxes = np.stack(
        [
            centre_y - half_height,
            centre_x - half_width,
            centre_y + half_height,
            centre_x + half_width,
        ],
        -1,
    )
    if attrs.clip:
        boxes = np.clip(boxes, 0.0, 1.0)
    if attrs.apply_softmax:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        scores = powers / powers.sum(axis=1, keepdims=True)
    scores = scores * (scores >= float(attrs.threshold))
    if not attrs.keep_background:
        scores[:, 0] = 0.0
    return boxes.astype(dtype), scores.astype(dtype)
