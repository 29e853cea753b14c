"""Refuse TFLite models that cannot be loaded right, naming everything at once.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/tflite/tflite_frontend.py.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from forge.errors import InvalidInput, UnsupportedOperator
from forge.prepare.tflite.operator_names import (
    DETECTION_POSTPROCESS,
    all_operators,
    builtin_names,
    operator_name,
)

STATEFUL = frozenset({"VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"})
RANDOM = frozenset(
    {"RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL", "STABLEHLO_RNG_BIT_GENERATOR"}
)
_BRANCHES = {
    "IF": "IfOptions",
    "WHILE": "WhileOptions",
    "CALL": "CallOptions",
    "CALL_ONCE": "CallOnceOptions",
}


def refuse(
    model: Any, supported: Collection[str], quantised: Collection[str], custom: Collection[str]
) -> None:
    """Look at every operator of every subgraph before TVM does.

    Args:
        model: The parsed ``tflite.Model``.
        supported: Builtin operators that TVM's frontend or Forge converts.
        quantised: Those of them that may work on quantised tensors.
        custom: Custom operators that the caller implements.

    Raises:
        UnsupportedOperator: Unknown, custom, Flex, random or stateful operators, or operators
            on quantised tensors that cannot be loaded; all of them are in ``operators``.
        InvalidInput: Several signatures, or a subgraph that nothing calls.
    """
    names = builtin_names()
    found: dict[str, list[str]] = {}

    def add(reason: str, operator: str) -> None:
        if operator not in found.setdefault(reason, []):
            found[reason].append(operator)

    for number, operator in all_operators(model):
        name, is_custom = operator_name(model, operator, names)
        subgraph = model.Subgraphs(number)
        if is_custom:
            if name not in custom and name != DETECTION_POSTPROCESS:
                flex = name.startswith("Flex")
                add("TensorFlow (Flex) operators" if flex else "custom operators", name)
            continue
        if name in STATEFUL:
            add("operators that keep state between calls", name)
        elif name in RANDOM:
            add("operators that draw random numbers", name)
        elif name not in supported:
            add("operators that no converter knows", name)
        else:
            _state(subgraph, operator, name, add)
            _quantisation(subgraph, operator, name, quantised, add)
    if found:
        parts = "; ".join(f"{reason}: {', '.join(sorted(ops))}" for reason, ops in found.items())
        raise UnsupportedOperator(
            f"the TFLite model cannot be loaded: {parts}.",
            operators=[operator for operators in found.values() for operator in operators],
            hint=_hint(found),
        )
    _one_entry_point(model, names)


def _hint(found: dict[str, list[str]]) -> str:
    reasons = " ".join(found)
    if "Flex" in reasons:
        return "load the original model with from_tensorflow or from_keras instead"
    if "state" in reasons:
        return "export recurrent layers with unroll=True, or with their state as inputs and outputs"
    if "quantised" in reasons:
        return "convert without dynamic-range quantisation, or to full int8 or float16"
    if "custom" in reasons:
        return "custom_ops={name: f(builder, inputs, attrs) -> relax.Expr} gives an implementation"
    return "load the model that the TFLite file was made from with its own loader"


def _tensors(subgraph: Any, indices: Any) -> list[Any]:
    if isinstance(indices, int):
        return []
    return [subgraph.Tensors(int(index)) for index in indices if index >= 0]


def _state(subgraph: Any, operator: Any, name: str, add: Any) -> None:
    if any(tensor.IsVariable() for tensor in _tensors(subgraph, operator.InputsAsNumpy())):
        add("operators that keep state between calls", name)


def _is_quantised(tensor: Any) -> bool:
    parameters = tensor.Quantization()
    return parameters is not None and parameters.ScaleLength() > 0


def _quantisation(
    subgraph: Any, operator: Any, name: str, quantised: Collection[str], add: Any
) -> None:
    inputs = _tensors(subgraph, operator.InputsAsNumpy())
    outputs = _tensors(subgraph, operator.OutputsAsNumpy())
    marked = [_is_quantised(tensor) for tensor in inputs]
    if not any(marked) and not any(_is_quantised(tensor) for tensor in outputs):
        return
    from tflite.TensorType import TensorType

    if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED") and not marked[0]:
        add("operators with dynamic-range quantised weights", name)
    elif name not in quantised:
        add("operators on quantised tensors", name)
    if any(tensor.Type() in (TensorType.INT16, TensorType.INT4) for tensor in (*inputs, *outputs)):
        add("operators on quantised int16 or int4 tensors", name)


def _one_entry_point(model: Any, names: dict[int, str]) -> None:
    if model.SignatureDefsLength() > 1:
        keys = [
            (model.SignatureDefs(i).SignatureKey() or b"").decode("utf-8")
            for i in range(model.SignatureDefsLength())
        ]
        raise InvalidInput(
            f"the TFLite model has {len(keys)} signatures: {', '.join(keys)}; "
            f"only the first subgraph would be loaded.",
            hint="convert one signature at a time",
        )
    called = {0}
    for _, operator in all_operators(model):
        name, _ = operator_name(model, operator, names)
        called.update(_called(operator, name))
    lost = [i for i in range(model.SubgraphsLength()) if i not in called]
    if lost:
        raise InvalidInput(
            f"the TFLite model has {model.SubgraphsLength()} subgraphs, of which number "
            f"{', '.join(map(str, lost))} is reached from no operator of the first.",
            hint="convert one signature at a time",
        )


def _called(operator: Any, name: str) -> list[int]:
    import tflite

    if name.startswith("STABLEHLO"):
        table = operator.BuiltinOptions2()
        result = []
        for cls, fields in (
            ("StablehloReduceOptions", ("BodySubgraphIndex",)),
            ("StablehloReduceWindowOptions", ("BodySubgraphIndex",)),
            ("StablehloScatterOptions", ("UpdateComputationSubgraphIndex",)),
            ("StablehloSortOptions", ("ComparatorSubgraphIndex",)),
            ("StablehloWhileOptions", ("CondSubgraphIndex", "BodySubgraphIndex")),
            ("StableHLOCompositeOptions", ("DecompositionSubgraphIndex",)),
        ):
            if operator.BuiltinOptions2Type() == getattr(tflite.BuiltinOptions2, cls, None):
                option = getattr(tflite, cls)()
                option.Init(table.Bytes, table.Pos)
                result += [int(getattr(option, field)()) for field in fields]
        return result
    if name not in _BRANCHES or operator.BuiltinOptions() is None:
        return []
    option = getattr(tflite, _BRANCHES[name])()
    table = operator.BuiltinOptions()
    option.Init(table.Bytes, table.Pos)
    getters = [field for field in dir(option) if field.endswith(("Subgraph", "SubgraphIndex"))]
    return [int(getattr(option, getter)()) for getter in getters]
