"""TFLite operators that move values without changing them, where TVM's converter is wrong.

Measured with TVM 0.27.0.post1 against TensorFlow's interpreter: RESIZE_NEAREST_NEIGHBOR ignores
align_corners, GATHER ignores batch_dims, GATHER_ND and SCATTER_ND permute indices that Relax
takes unpermuted, SELECT broadcasts a vector condition along the wrong axis; MIRROR_PAD
SYMMETRIC, REVERSE_V2 over two axes, EXPAND_DIMS, SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND raise.

Each function takes the converter and the operator and returns a Relax expression, or
``NotImplemented`` where TVM's own converter is right.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/tflite/tflite_frontend.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tvm import relax

from forge._tvm import constant
from forge.prepare.tflite.shape_values import options

# Of a quantised tensor these move the integers and leave scale and zero point alone.
KEEPS_QUANTISED_VALUES = frozenset(
    {
        "ARG_MAX",
        "ARG_MIN",
        "BATCH_TO_SPACE_ND",
        "BROADCAST_TO",
        "DEPTH_TO_SPACE",
        "EXPAND_DIMS",
        "GATHER",
        "GATHER_ND",
        "MIRROR_PAD",
        "PACK",
        "PAD",
        "PADV2",
        "RANK",
        "RESIZE_NEAREST_NEIGHBOR",
        "REVERSE_V2",
        "SHAPE",
        "SLICE",
        "SPACE_TO_DEPTH",
        "SPLIT",
        "SPLIT_V",
        "SQUEEZE",
        "STRIDED_SLICE",
        "TILE",
        "TRANSPOSE",
        "UNPACK",
    }
)


def _take(data: Any, indices: np.ndarray, axis: int) -> Any:
    return relax.op.take(data, constant(indices.astype("int32")), axis=axis, mode="clip")


def _shape(converter: Any, tensor: Any) -> list[int]:
    return [int(dim) for dim in converter.get_tensor_shape(tensor)]


def resize_nearest_neighbor(converter: Any, op: Any) -> Any:
    """Pick rows and columns by the index that TFLite's kernel computes in float32."""
    from tflite.ResizeNearestNeighborOptions import ResizeNearestNeighborOptions

    tensors = converter.get_input_tensors(op)
    option = options(op, ResizeNearestNeighborOptions)
    align, half = bool(option.AlignCorners()), bool(option.HalfPixelCenters())
    out = converter.get_tensor_expr(tensors[0])
    shape = _shape(converter, tensors[0])
    for axis, size in zip((1, 2), converter.get_tensor_value(tensors[1]), strict=True):
        length, size = shape[axis], int(size)
        corners = align and size > 1
        ratio = (length - 1) / (size - 1) if corners else length / size
        place = (np.arange(size, dtype="float32") + np.float32(0.5 if half else 0)) * np.float32(
            ratio
        )
        # The kernel rounds half away from zero; places are never negative.
        indices = np.floor(place + np.float32(0.5)) if align else np.floor(place)
        out = _take(out, np.clip(indices, 0, length - 1), axis)
    return out


def gather(converter: Any, op: Any) -> Any:
    """Gather with batch_dims, as one take over the flattened batch and axis."""
    from tflite.GatherOptions import GatherOptions

    option = options(op, GatherOptions)
    tensors = converter.get_input_tensors(op)
    data, indices = (converter.get_tensor_expr(tensor) for tensor in tensors)
    shape, index_shape = (_shape(converter, tensor) for tensor in tensors)
    axis, batch_dims = int(option.Axis()) % len(shape), int(option.BatchDims())
    batch_dims += len(index_shape) if batch_dims < 0 else 0
    if not batch_dims:
        return relax.op.take(data, indices, axis=axis, mode="clip")
    batch = int(np.prod(shape[:batch_dims], dtype="int64"))
    outer = int(np.prod(shape[batch_dims:axis], dtype="int64"))
    inner = int(np.prod(shape[axis + 1 :], dtype="int64"))
    picks = int(np.prod(index_shape[batch_dims:], dtype="int64"))
    data = relax.op.reshape(data, (batch, outer, shape[axis], inner))
    data = relax.op.permute_dims(data, [0, 2, 1, 3])
    data = relax.op.reshape(data, (batch * shape[axis], outer, inner))
    offsets = constant(np.arange(batch, dtype="int64")[:, None] * shape[axis])
    indices = relax.op.reshape(relax.op.astype(indices, "int64"), (batch, picks))
    out = relax.op.take(data, relax.op.add(indices, offsets), axis=0, mode="clip")
    out = relax.op.permute_dims(out, [0, 2, 1, 3])
    return relax.op.reshape(out, (*shape[:axis], *index_shape[batch_dims:], *shape[axis + 1 :]))


def gather_nd(converter: Any, op: Any) -> Any:
    """Give Relax the indices as they are: its gather_nd takes the index depth last, as TFLite."""
    data, indices = (converter.get_tensor_expr(t) for t in converter.get_input_tensors(op))
    return relax.op.gather_nd(data, relax.op.astype(indices, "int64"))


def scatter_nd(converter: Any, op: Any) -> Any:
    """Scatter into zeros; duplicate indices add up, as in TFLite's kernel."""
    tensors = converter.get_input_tensors(op)
    indices, updates = (converter.get_tensor_expr(tensor) for tensor in tensors[:2])
    shape = [int(dim) for dim in converter.get_tensor_value(tensors[2])]
    dtype = converter.get_tensor_type_as_numpy(tensors[1])
    return relax.op.scatter_nd(
        constant(np.zeros(shape, dtype)), relax.op.astype(indices, "int64"), updates, "add"
    )


def select(converter: Any, op: Any) -> Any:
    """Let a vector condition of SELECT choose rows, as the first version of tf.where does."""
    tensors = converter.get_input_tensors(op)
    if len(tensors) != 3 or converter.get_op_code_str(op) != "SELECT":
        return NotImplemented
    ranks = [len(_shape(converter, tensor)) for tensor in tensors]
    if ranks[0] != 1 or ranks[1] <= 1:
        return NotImplemented
    condition, x, y = (converter.get_tensor_expr(tensor) for tensor in tensors)
    length = _shape(converter, tensors[0])[0]
    condition = relax.op.reshape(condition, (length, *([1] * (ranks[1] - 1))))
    return relax.op.where(condition, x, y)


def mirror_pad(converter: Any, op: Any) -> Any:
    """Mirror each axis by picking the indices that numpy's own padding gives."""
    from tflite.MirrorPadOptions import MirrorPadOptions

    mode = "reflect" if options(op, MirrorPadOptions).Mode() == 0 else "symmetric"
    tensors = converter.get_input_tensors(op)
    out = converter.get_tensor_expr(tensors[0])
    widths = converter.get_tensor_value(tensors[1])
    for axis, length in enumerate(_shape(converter, tensors[0])):
        before, after = (int(width) for width in widths[axis])
        if before or after:
            out = _take(out, np.pad(np.arange(length), (before, after), mode=mode), axis)  # type: ignore[call-overload]
    return out


def reverse_v2(converter: Any, op: Any) -> Any:
    """Reverse along any number of axes."""
    tensors = converter.get_input_tensors(op)
    out = converter.get_tensor_expr(tensors[0])
    for axis in np.ravel(converter.get_tensor_value(tensors[1])):
        out = relax.op.flip(out, int(axis))
    return out


def expand_dims(converter: Any, op: Any) -> Any:
    """Insert one axis; TVM's converter calls Relax with an argument that it does not take."""
    tensors = converter.get_input_tensors(op)
    axis = int(np.ravel(converter.get_tensor_value(tensors[1]))[0])
    return relax.op.expand_dims(converter.get_tensor_expr(tensors[0]), axis)


def space_to_batch_nd(converter: Any, op: Any) -> Any:
    """Pad, split each spatial axis into blocks, move the blocks into the batch."""
    tensors = converter.get_input_tensors(op)
    block = [int(size) for size in converter.get_tensor_value(tensors[1])]
    pads = converter.get_tensor_value(tensors[2]).astype(int).tolist()
    shape = _shape(converter, tensors[0])
    count, rest = len(block), shape[1 + len(block) :]
    widths = [0, 0, *(width for pair in pads for width in pair), *([0, 0] * len(rest))]
    out = relax.op.nn.pad(converter.get_tensor_expr(tensors[0]), widths, pad_value=0)
    sizes = [shape[1 + i] + sum(pads[i]) for i in range(count)]
    split = [part for size, b in zip(sizes, block, strict=True) for part in (size // b, b)]
    out = relax.op.reshape(out, (shape[0], *split, *rest))
    blocks = [2 + 2 * i for i in range(count)]
    places = [1 + 2 * i for i in range(count)]
    tail = [1 + 2 * count + i for i in range(len(rest))]
    out = relax.op.permute_dims(out, [*blocks, 0, *places, *tail])
    batch = shape[0] * int(np.prod(block))
    return relax.op.reshape(
        out, (batch, *(size // b for size, b in zip(sizes, block, strict=True)), *rest)
    )


def batch_to_space_nd(converter: Any, op: Any) -> Any:
    """Move blocks of the batch back between the spatial places, then crop."""
    tensors = converter.get_input_tensors(op)
    block = [int(size) for size in converter.get_tensor_value(tensors[1])]
    crops = converter.get_tensor_value(tensors[2]).astype(int).tolist()
    shape = _shape(converter, tensors[0])
    count = len(block)
    spatial, rest = shape[1 : 1 + count], shape[1 + count :]
    batch = shape[0] // int(np.prod(block))
    out = relax.op.reshape(converter.get_tensor_expr(tensors[0]), (*block, batch, *spatial, *rest))
    order = [count]
    for i in range(count):
        order += [count + 1 + i, i]
    order += [2 * count + 1 + i for i in range(len(rest))]
    sizes = [size * b for size, b in zip(spatial, block, strict=True)]
    out = relax.op.reshape(relax.op.permute_dims(out, order), (batch, *sizes, *rest))
    return relax.op.strided_slice(
        out,
        axes=list(range(1, 1 + count)),
        begin=[crop[0] for crop in crops],
        end=[size - crop[1] for size, crop in zip(sizes, crops, strict=True)],
    )


MENDS = {
    "BATCH_TO_SPACE_ND": batch_to_space_nd,
    "EXPAND_DIMS": expand_dims,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "MIRROR_PAD": mirror_pad,
    "RESIZE_NEAREST_NEIGHBOR": resize_nearest_neighbor,
    "REVERSE_V2": reverse_v2,
    "SCATTER_ND": scatter_nd,
    "SELECT": select,
    "SPACE_TO_BATCH_ND": space_to_batch_nd,
}
