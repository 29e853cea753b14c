"""What onnx's ReferenceEvaluator computes wrong, so that its word on it must not count.

Found with onnx 1.23.2 by running the node cases of ``onnx.backend.test``, and about 1,500 further
single operators with other attributes, shapes and opsets, against ONNX Runtime without
optimisations. What it merely cannot run is not listed: its own error says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Constants = Mapping[str, np.ndarray]
Condition = Callable[[Any, int, Constants], bool]

# The gates' own functions, one direction.
_ACTIVATIONS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_SEQUENCE_LENGTHS = 4


def _always(node: Any, opset: int, constants: Constants) -> bool:
    return True


@dataclass(frozen=True)
class Fault:
    """One operator that an evaluator gets wrong.

    Attributes:
        operator: Its name in the default domain.
        reason: What is wrong.
        when: Tells from the node, the version of the default domain and the values that are
            known whether the fault is met.
        float64_only: The values are right to float32 and no better.
    """

    operator: str
    reason: str
    when: Condition = _always
    float64_only: bool = False


def attribute(node: Any, name: str, default: Any = None) -> Any:
    """Read a node's attribute; text as ``str``."""
    from onnx import helper

    for each in node.attribute:
        if each.name == name:
            value = helper.get_attribute_value(each)
            if isinstance(value, bytes):
                return value.decode()
            if isinstance(value, list) and value and isinstance(value[0], bytes):
                return [item.decode() for item in value]
            return value
    return default


def _input(node: Any, index: int) -> str:
    return node.input[index] if len(node.input) > index else ""


def _outputs(node: Any) -> int:
    return sum(bool(name) for name in node.output)


def _is_training(node: Any, opset: int, constants: Constants) -> bool:
    if opset < 7 and not attribute(node, "is_test", 0):
        return True
    return bool(attribute(node, "training_mode", 0)) or _outputs(node) > 1


def _has_other_activations(node: Any, opset: int, constants: Constants) -> bool:
    own = _ACTIVATIONS[node.op_type]
    given = attribute(node, "activations", own)
    return any(name != own[index % len(own)] for index, name in enumerate(given))


def _rounds_at_borders(node: Any, opset: int, constants: Constants) -> bool:
    """A scale that binary fractions do not hold puts some pixels on the border of two others."""
    if attribute(node, "mode", "nearest") != "nearest" or _input(node, 3):
        return False
    scales = constants.get(_input(node, 2 if opset > 10 else 1))
    return scales is None or not np.array_equal(scales * 256, np.round(scales * 256))


def _aligns_by_scale(node: Any, opset: int, constants: Constants) -> bool:
    mode = attribute(node, "coordinate_transformation_mode", "half_pixel")
    return mode == "align_corners" and not _input(node, 3)


def _stacks_results(node: Any, opset: int, constants: Constants) -> bool:
    return _outputs(node) > len(node.input) - 2


_ANY_RANDOM = "it draws random numbers"
_RECURRENT = [
    Fault(operator, reason, when)
    for operator in ("LSTM", "GRU", "RNN")
    for reason, when in (
        ("sequence_lens is ignored", lambda n, o, c: bool(_input(n, _SEQUENCE_LENGTHS))),
        ("clip is ignored", lambda n, o, c: attribute(n, "clip") is not None),
        ("input_forget is ignored", lambda n, o, c: bool(attribute(n, "input_forget", 0))),
        ("activations are ignored", _has_other_activations),
        ("layout=1 was never compared", lambda n, o, c: bool(attribute(n, "layout", 0))),
    )
]

FAULTS: tuple[Fault, ...] = (
    *_RECURRENT,
    *(
        Fault(operator, _ANY_RANDOM)
        for operator in (
            "RandomNormal",
            "RandomNormalLike",
            "RandomUniform",
            "RandomUniformLike",
            "Bernoulli",
            "Multinomial",
        )
    ),
    Fault("BatchNormalization", "statistics of the batch are mixed in wrong", _is_training),
    Fault(
        "BatchNormalization",
        "spatial=0 is ignored",
        lambda n, o, c: attribute(n, "spatial", 1) == 0,
    ),
    Fault(
        "ConvTranspose",
        "with auto_pad the size is wrong where a stride exceeds the kernel",
        lambda n, o, c: str(attribute(n, "auto_pad", "NOTSET")).startswith("SAME"),
    ),
    Fault(
        "Dropout",
        "the mask of opset 10 and 11 is true",
        lambda n, o, c: o < 12 and _outputs(n) > 1,
    ),
    Fault("Loop", "results of the iterations are stacked along the wrong axis", _stacks_results),
    Fault("Loop", "without a condition it does not run", lambda n, o, c: not _input(n, 1)),
    Fault(
        "LpNormalization",
        "p=1 sums without taking absolute values",
        lambda n, o, c: attribute(n, "p", 2) == 1,
    ),
    Fault("MaxPool", "indices were never compared", lambda n, o, c: _outputs(n) > 1),
    Fault("Resize", "align_corners takes the scale for the ratio of sizes", _aligns_by_scale),
    Fault("Resize", "nearest rounds a scale such as 0.6 to another pixel", _rounds_at_borders),
    Fault(
        "RoiAlign",
        "before opset 16 the region is shifted by half a pixel",
        lambda n, o, c: o < 16,
    ),
    *(
        Fault(operator, "it computes in float32", float64_only=True)
        for operator in (
            "AffineGrid",
            "CausalConvWithState",
            "GridSample",
            "LinearAttention",
            "MelWeightMatrix",
            "TfIdfVectorizer",
        )
    ),
    Fault("BitCast", "the bits of a float64 are others", float64_only=True),
)


def faults_of(
    node: Any, opset: int, constants: Constants, *, float64: bool
) -> Iterator[tuple[str, str]]:
    """Yield the name of a node's operator and a reason for each fault that it meets.

    A node in a function's body, whose attributes the caller sets, is taken to meet them all.
    """
    if node.domain not in ("", "ai.onnx"):
        return
    open_attributes = any(each.ref_attr_name for each in node.attribute)
    for fault in FAULTS:
        if (
            fault.operator == node.op_type
            and (float64 or not fault.float64_only)
            and (open_attributes or fault.when(node, opset, constants))
        ):
            yield node.op_type, fault.reason
