"""Trace a model into one concrete function of flat inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forge.errors import InvalidInput, LoadError
from forge.frameworks import require
from forge.prepare.tensorflow.quiet import quiet
from forge.prepare.tensorflow.signature import Signature, distinct


def trace(signature: Signature) -> tuple[Any, list[str]]:
    """Trace in a ``tf.function`` of our own, so that shapes are fixed and order is kept.

    TensorFlow's other entry points sort or permute several inputs and outputs, and re-use an
    older trace with open shapes. Returns the concrete function and the names of its outputs.

    Raises:
        InvalidInput: The model cannot be called with these shapes, or gives no tensor.
    """
    tf: Any = require("tensorflow", "forge.from_tensorflow")
    names: list[str] = []

    def flat(*tensors: Any) -> Any:
        named = signature.name_outputs(signature.call(tensors))
        names[:] = distinct([name for name, _ in named])
        # An output that is an input, or occurs twice, would be merged with it by the converters.
        return tuple(tf.identity(_dense(leaf, name)) for name, leaf in named)

    specs = [
        tf.TensorSpec(
            [dim if isinstance(dim, int) else None for dim in spec.shape],
            tf.as_dtype(spec.dtype),
            name=f"forge_input_{position}",
        )
        for position, spec in enumerate(signature.inputs)
    ]
    try:
        with quiet():
            function = tf.function(flat, autograph=False).get_concrete_function(*specs)
    except InvalidInput:
        raise
    except Exception as error:
        shapes = ", ".join(str(spec) for spec in signature.inputs)
        raise InvalidInput(
            f"the model cannot be called with {shapes}: {type(error).__name__}: {_short(error)}",
            hint="check the shapes in shape_dict against what the model takes",
        ) from error
    if not names:
        raise InvalidInput("the model gives back no tensor.")
    if len(_own_inputs(function)) != len(specs):
        raise LoadError("tracing the model changed the number of its inputs.")
    return function, list(names)


def _dense(leaf: Any, name: str) -> Any:
    kind = type(leaf).__name__
    if kind in ("SparseTensor", "RaggedTensor", "IndexedSlices", "TensorArray"):
        raise InvalidInput(
            f"output {name!r} of the model is a {kind}, which TVM cannot hold.",
            hint="give back a dense tensor, for example with tf.sparse.to_dense",
        )
    return leaf


def _own_inputs(function: Any) -> Sequence[Any]:
    captured = len(function.captured_inputs)
    return function.inputs[: len(function.inputs) - captured]  # type: ignore[no-any-return]


def _short(error: Exception) -> str:
    text = str(error).strip()
    return text if len(text) < 600 else text[:600] + " …"
