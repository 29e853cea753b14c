"""What a TensorFlow or Keras model takes and gives, and how to call it with flat tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from forge.errors import InvalidInput
from forge.specs import Dim, TensorSpec, describe

Named = list[tuple[str, Any]]


@dataclass(frozen=True)
class Signature:
    """One way to call a model.

    Attributes:
        call: Takes the input tensors in order, gives whatever structure the model gives.
        inputs: Names, shapes and dtypes in the framework's order; an open dimension is a str.
        name_outputs: Flattens what ``call`` gave into names and tensors, in the framework's order.
    """

    call: Callable[[Sequence[Any]], Any]
    inputs: tuple[TensorSpec, ...]
    name_outputs: Callable[[Any], Named]

    def with_shapes(self, shape_dict: Mapping[str, Sequence[Dim]] | None, loader: str) -> Signature:
        """Replace shapes by the caller's.

        Raises:
            InvalidInput: A name that is no input, another rank, or another size than the model's.
        """
        given = dict(shape_dict or {})
        unknown = [name for name in given if name not in {spec.name for spec in self.inputs}]
        if unknown:
            raise InvalidInput(
                f"shape_dict of {loader} names {', '.join(map(repr, unknown))}, which is no input "
                f"of the model; it has: {describe(self.inputs)}."
            )
        specs = [
            replace(spec, shape=_fitting(spec, given[spec.name])) if spec.name in given else spec
            for spec in self.inputs
        ]
        return replace(self, inputs=tuple(specs))


def _fitting(spec: TensorSpec, wanted: Sequence[Dim]) -> tuple[Dim, ...]:
    shape = tuple(wanted)
    for dim in shape:
        if isinstance(dim, bool) or not isinstance(dim, int | str):
            raise InvalidInput(
                f"shape_dict[{spec.name!r}] is {shape}; {dim!r} is neither an int nor a name.",
                hint="write an int, or a name such as 'N' for a symbolic dimension",
            )
        if dim == "" or (isinstance(dim, int) and dim < 0):
            raise InvalidInput(f"shape_dict[{spec.name!r}] is {shape}; {dim!r} is no dimension.")
    if UNKNOWN_RANK not in spec.shape and (
        len(shape) != len(spec.shape)
        or any(isinstance(a, int) and a != b for a, b in zip(spec.shape, shape, strict=True))
    ):
        raise InvalidInput(
            f"shape_dict gives {shape} for the input {spec}.",
            hint="give as many dimensions, and only open ones another size",
        )
    return shape


UNKNOWN_RANK = "..."


def dims_of(shape: Any, name: str) -> tuple[Dim, ...]:
    """Turn a ``tf.TensorShape``, or what stands for one, into dimensions.

    An open first dimension is called ``batch`` in every input, so that inputs which meet share
    it; other open dimensions are called after the input and the axis.
    """
    if shape is None or getattr(shape, "rank", 0) is None:
        return (UNKNOWN_RANK,)
    label = "".join(c if c.isalnum() else "_" for c in name)
    label = label if label.isidentifier() else f"input_{label}"
    return tuple(
        int(dim) if dim is not None else ("batch" if axis == 0 else f"{label}_{axis}")
        for axis, dim in enumerate(shape)
    )


def name_structure(structure: Any, single: str = "output_0") -> Named:
    """Name the tensors of a nested result as TensorFlow's signatures do.

    A dict gives its keys, in sorted order as ``tf.nest`` flattens it; a list or tuple gives
    ``output_0``, ``output_1`` …; deeper levels are joined by ``/``. None holds no tensor.
    """
    if isinstance(structure, Mapping | list | tuple):
        return [(name, leaf) for name, leaf in _walk(structure, "", True) if leaf is not None]
    return [] if structure is None else [(single, structure)]


def _walk(structure: Any, prefix: str, top: bool) -> Named:
    if isinstance(structure, Mapping):
        items = [(str(key), structure[key]) for key in sorted(structure)]
    elif isinstance(structure, list | tuple):
        items = [(f"output_{i}" if top else str(i), part) for i, part in enumerate(structure)]
    else:
        return [(prefix, structure)]
    return [
        pair
        for key, part in items
        for pair in _walk(part, f"{prefix}/{key}" if prefix else key, False)
    ]


def distinct(names: Sequence[str]) -> list[str]:
    """Number names that occur again, as TensorFlow does: ``x``, ``x_1``, ``x_2``."""
    result: list[str] = []
    for name in names:
        candidate, number = name, 0
        while candidate in result or (number and candidate in names):
            number += 1
            candidate = f"{name}_{number}"
        result.append(candidate)
    return result
