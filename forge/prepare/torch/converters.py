"""Converters that TVM's torch frontend lacks or gets wrong, given to it as ``custom_convert_map``.

Its matrix products and convolutions ask for float32 whatever their inputs are, which loses
float64 and integers above 2^24. Each function takes the node and TVM's importer and returns
a Relax expression.

Measured with TVM 0.27.0.post1.
See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/base_fx_graph_translator.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import relax

Converter = Callable[[Any, Any], Any]


def converters() -> dict[str, Converter]:
    """Give all of them under the names that TVM looks operators up by."""
    return {
        "amax.default": _reduce(relax.op.max),
        "amin.default": _reduce(relax.op.min),
        "any.default": _any,
        "any.dim": _any,
        "any.dims": _any,
        "min.dim": _extreme_with_index(largest=False),
        "max.dim": _extreme_with_index(largest=True),
        "prod.dim_int": _reduce(relax.op.prod),
        "embedding.default": _embedding,
        "index_select.default": _index_select,
        "select.int": _select,
        "scatter_add.default": _scatter_add,
        "scatter.src": _scatter,
        "scatter.value": _scatter,
        "mm.default": _matmul,
        "bmm.default": _matmul,
        "convolution.default": _convolution,
        "sort.default": _sort,
        "sort.stable": _sort,
        "view.default": _view,
        "upsample_nearest2d.default": _upsample_nearest,
        "upsample_bilinear2d.default": _upsample_bilinear,
    }


def _arguments(node: Any, importer: Any) -> dict[str, Any]:
    """Give a node's arguments by the names in its schema, defaults included."""
    schema = node.target._schema.arguments
    values = dict(zip((arg.name for arg in schema), importer.retrieve_args(node), strict=False))
    values |= {name: importer._retrieve_args(value) for name, value in node.kwargs.items()}
    return {
        arg.name: values.get(arg.name, arg.default_value if arg.has_default_value() else None)
        for arg in schema
    }


def _reduce(operator: Callable[..., Any]) -> Converter:
    def convert(node: Any, importer: Any) -> Any:
        args = _arguments(node, importer)
        dim = args["dim"]
        axis = None if isinstance(dim, (list, tuple)) and not dim else dim
        return importer.block_builder.emit(operator(args["self"], axis, args["keepdim"]))

    return convert


def _any(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    dim = args.get("dim")
    axis = None if isinstance(dim, (list, tuple)) and not dim else dim
    emit = importer.block_builder.emit
    truth = emit(relax.op.astype(emit(relax.op.astype(args["self"], "bool")), "int8"))
    found = emit(relax.op.max(truth, axis, bool(args.get("keepdim"))))
    return emit(relax.op.astype(found, "bool"))


def _extreme_with_index(largest: bool) -> Converter:
    def convert(node: Any, importer: Any) -> Any:
        args = _arguments(node, importer)
        x, dim, keep = args["self"], args["dim"], args["keepdim"]
        emit = importer.block_builder.emit
        value = emit((relax.op.max if largest else relax.op.min)(x, dim, keep))
        place = emit((relax.op.argmax if largest else relax.op.argmin)(x, dim, keep))
        return emit(relax.Tuple([value, place]))

    return convert


def _take(importer: Any, x: Any, index: Any, axis: int) -> Any:
    # TVM's default mode reads outside the tensor, and may crash, on an index out of range.
    return importer.block_builder.emit(relax.op.take(x, index, axis=axis, mode="clip"))


def _embedding(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    return _take(importer, args["weight"], args["indices"], 0)


def _index_select(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    return _take(importer, args["self"], args["index"], args["dim"])


def _select(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    return _take(importer, args["self"], relax.const(args["index"], "int64"), args["dim"])


def _scatter(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    x, index = args["self"], args["index"]
    source = args.get("src")
    if source is None:
        value = relax.const(args["value"], x.ty.dtype)
        source = importer.block_builder.emit(relax.op.broadcast_to(value, index.ty.shape))
    return importer.block_builder.emit(
        relax.op.scatter_elements(x, index, source, axis=args["dim"])
    )


def _scatter_add(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    return importer.block_builder.emit(
        relax.op.scatter_elements(
            args["self"], args["index"], args["src"], axis=args["dim"], reduction="add"
        )
    )


def _matmul(node: Any, importer: Any) -> Any:
    left, right = importer.retrieve_args(node)[:2]
    return importer.block_builder.emit(relax.op.matmul(left, right))


def _convolution(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    rank = len(args["stride"])
    transposed = args["transposed"]
    names = {1: "W", 2: "HW", 3: "DHW"}[rank]
    operator = getattr(relax.op.nn, f"conv{rank}d_transpose" if transposed else f"conv{rank}d")
    options = {"output_padding": args["output_padding"]} if transposed else {}
    value = importer.block_builder.emit(
        operator(
            args["input"],
            args["weight"],
            strides=args["stride"],
            padding=args["padding"],
            dilation=args["dilation"],
            groups=args["groups"],
            data_layout="NC" + names,
            kernel_layout=("IO" if transposed else "OI") + names,
            **options,
        )
    )
    if importer._is_no_bias(args["bias"]):
        return value
    shaped = relax.op.reshape(args["bias"], (1, -1, *(1,) * rank))
    return importer.block_builder.emit(relax.op.add(value, shaped))


def _view(node: Any, importer: Any) -> Any:
    # TVM's own compares symbolic shapes with ==, which raises on an expression such as N * 3.
    args = _arguments(node, importer)
    return importer._emit_torch_reshape(args["self"], args["size"])


def _sort(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    emit = importer.block_builder.emit
    places = emit(
        relax.op.argsort(args["self"], args["dim"], bool(args["descending"]), dtype="int64")
    )
    values = emit(relax.op.gather_elements(args["self"], places, axis=args["dim"]))
    return emit(relax.Tuple([values, places]))


def _upsample_nearest(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    return importer.block_builder.emit(
        relax.op.image.resize2d(
            args["self"],
            tuple(args["output_size"]),
            layout="NCHW",
            method="nearest_neighbor",
            coordinate_transformation_mode="asymmetric",
            rounding_method="floor",
        )
    )


def _upsample_bilinear(node: Any, importer: Any) -> Any:
    args = _arguments(node, importer)
    mode = "align_corners" if args["align_corners"] else "half_pixel"
    return importer.block_builder.emit(
        relax.op.image.resize2d(
            args["self"],
            tuple(args["output_size"]),
            layout="NCHW",
            method="linear",
            coordinate_transformation_mode=mode,
        )
    )
