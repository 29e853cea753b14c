"""Say which operators of a model TVM's frontend would not convert, or would take for another's.

TVM 0.25–0.27 looks operators up by bare name: ``my.custom::Relu`` is taken for ONNX's Relu,
and ai.onnx ``Attention`` for com.microsoft's.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/onnx/onnx_frontend.py.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from forge.prepare.onnx.graphs import all_graphs, domain_of, operator_name

# Converters of TVM's that implement com.microsoft's operator of that name, not ai.onnx's.
_CONTRIB_ONLY = frozenset(
    {"Attention", "BiasGelu", "EmbedLayerNormalization", "FastGelu", "SkipLayerNormalization"}
)
_HANDLED_WITHOUT_CONVERTER = frozenset({"Constant", "If"})
_CONTRIB_CHECKED = frozenset({"BiasGelu", "FastGelu", "Gelu"})


def standard_converters() -> frozenset[str]:
    """Name the default domain's operators that TVM's frontend converts."""
    from tvm.relax.frontend.onnx import onnx_frontend

    return (
        frozenset(onnx_frontend._get_convert_map()) - _CONTRIB_ONLY
    ) | _HANDLED_WITHOUT_CONVERTER


def unsupported_operators(
    model: Any, converters: Collection[str], custom: Collection[str] = ()
) -> tuple[str, ...]:
    """List all operators of the model that cannot be converted, each once.

    Args:
        converters: What ``standard_converters`` gives.
        custom: Operators that the caller converts, as ``domain::Name``; in the top graph only.
    """
    found: dict[str, None] = {}
    for depth, graph in enumerate(all_graphs(model.graph)):
        # A converter is stitched into the top graph; below it TVM would take the bare name.
        converted = custom if depth == 0 else ()
        for node in graph.node:
            name = operator_name(node)
            if not _is_known(node, converters) and name not in converted:
                found[name] = None
    return tuple(found)


def _is_known(node: Any, converters: Collection[str]) -> bool:
    domain = domain_of(node)
    if domain:
        return domain == "com.microsoft" and node.op_type in _CONTRIB_CHECKED
    return node.op_type in converters
