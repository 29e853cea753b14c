"""Call TVM's torch converters one by one and hold each result against what torch says it is.

torch.export knows shape and dtype of every intermediate. A converter that gives another
shape or dtype has misread its operator, and every later value would be wrong.

TVM 0.27 checks neither.
See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/torch/exported_program_translator.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from tvm import relax, tirx

from forge.errors import ForgeError, LoadError, UnsupportedOperator
from forge.prepare.torch.refusals import FIRST_RESULT_ONLY, layer_of, operator_name

CustomOperator = Callable[[Any, list[Any], dict[str, Any]], Any]


class GuardedConverters:
    """The converters of one import, by the names that TVM looks operators up by.

    Args:
        own: Forge's converters, ``f(node, importer)``; the others are TVM's own.
        given: The caller's converters, of the same form, which win over both.
        custom: The caller's converters by ``domain::Name``, ``f(builder, inputs, attrs)``.
    """

    def __init__(
        self,
        own: Mapping[str, Callable[..., Any]],
        given: Mapping[str, Callable[..., Any]],
        custom: Mapping[str, CustomOperator],
    ) -> None:
        self._own = own
        self._given = given
        self._custom = custom
        self._importer: Any = None
        self._stock: dict[str, Callable[..., Any]] = {}

    def convert_map(self, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
        """Give a guarded converter for each name, as ``custom_convert_map`` wants it."""
        return dict.fromkeys(names, self._convert)

    def _convert(self, node: Any, importer: Any = None) -> Any:
        # Inside the branches of a cond TVM calls converters without the importer.
        if importer is not None and importer is not self._importer:
            self._importer = importer
            self._stock = importer.create_convert_map()
        name = operator_name(node.target)
        try:
            value = self._call(node, name)
        except ForgeError:
            raise
        except Exception as error:
            raise LoadError(
                f"TVM's converter of {name}{layer_of(node)} failed: "
                f"{type(error).__name__}: {error}",
                hint="custom_convert_map replaces a converter of TVM's torch frontend",
            ) from error
        expected = node.meta.get("val")
        if node.target.__name__ in FIRST_RESULT_ONLY and isinstance(expected, (tuple, list)):
            expected = expected[:1]
        problem = _disagreement(value, expected)
        if problem:
            raise UnsupportedOperator(
                f"TVM converts {name}{layer_of(node)} wrong: {problem}.",
                (name,),
                hint="custom_convert_map replaces a converter of TVM's torch frontend",
            )
        return value

    def _call(self, node: Any, name: str) -> Any:
        key = node.target.__name__
        if key in self._given:
            return self._given[key](node, self._importer)
        custom = self._custom.get(name) or self._custom.get(name.partition(".")[0])
        if custom is not None:
            inputs, attributes = _split_arguments(node, self._importer)
            builder = self._importer.block_builder
            return builder.emit(custom(builder, inputs, attributes))
        if key in self._own:
            return self._own[key](node, self._importer)
        return self._stock[key](node)


def _split_arguments(node: Any, importer: Any) -> tuple[list[Any], dict[str, Any]]:
    """Part a node's arguments into tensors, in order, and attributes by their schema names."""
    names = [argument.name for argument in node.target._schema.arguments]
    values = dict(zip(names, importer.retrieve_args(node), strict=False))
    values |= {name: importer._retrieve_args(value) for name, value in node.kwargs.items()}
    inputs = [value for value in values.values() if isinstance(value, relax.Expr)]
    attributes = {k: v for k, v in values.items() if not isinstance(v, relax.Expr)}
    return inputs, attributes


def _disagreement(value: Any, expected: Any) -> str | None:
    if isinstance(expected, (tuple, list)):
        return _disagreement_of_tuple(value, list(expected))
    if not isinstance(expected, torch.Tensor):
        return None
    found = getattr(value, "ty", None)
    if not isinstance(found, relax.TensorType):
        return None
    dtype = str(expected.dtype).removeprefix("torch.")
    if str(found.dtype) != dtype:
        return f"the result is {found.dtype}, torch says {dtype}"
    if not isinstance(found.shape, relax.ShapeExpr):
        return None
    dims = list(found.shape.values)
    agrees = len(dims) == expected.dim() and all(
        _dims_agree(dim, want) for dim, want in zip(dims, expected.shape, strict=True)
    )
    if agrees:
        return None
    return f"the result has shape {_shape(dims)}, torch says {_shape(expected.shape)}"


def _disagreement_of_tuple(value: Any, expected: list[Any]) -> str | None:
    found = getattr(value, "ty", None)
    if isinstance(found, relax.TensorType):
        return _disagreement(value, expected[0]) if expected else None
    if isinstance(found, relax.TupleType):
        if len(found.fields) < len(expected):
            return f"there are {len(found.fields)} results, torch says {len(expected)}"
        for index, want in enumerate(expected):
            problem = _disagreement(_Typed(found.fields[index]), want)
            if problem:
                return f"of result {index}, {problem}"
    return None


class _Typed:
    def __init__(self, ty: Any) -> None:
        self.ty = ty


def _dims_agree(dim: Any, want: Any) -> bool:
    if not isinstance(dim, (int, tirx.IntImm)):
        return True
    return isinstance(want, int) and int(dim) == want


def _shape(dims: Iterable[Any]) -> str:
    known = (int(dim) if isinstance(dim, tirx.IntImm) else dim for dim in dims)
    return "(" + ", ".join(str(dim) for dim in known) + ")"
