"""The operator converter that Forge hands to TVM's TFLite frontend.

``tvm.relax.frontend.tflite.from_tflite`` takes the class of its converter as an argument. This
subclass replaces the converters of operators that TVM imports wrongly or not at all, evaluates
what follows from static shapes, and holds every operator's result against the shape and dtype
that the file itself declares, so that a fault of a converter is an error and not a wrong value.

See https://github.com/apache/tvm/blob/v0.27.0/python/tvm/relax/frontend/tflite/tflite_frontend.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from tvm.relax.frontend.tflite.tflite_frontend import OperatorConverter, get_tensor_name

from forge._tvm import dims_of, dtype_of, flatten_type
from forge.errors import UnsupportedOperator
from forge.prepare.tflite import (
    arithmetic,
    conv_transpose,
    data_movement,
    quantised_pool,
    shape_values,
)
from forge.prepare.tflite.operator_names import DETECTION_POSTPROCESS, operator_name

Mend = Callable[[Any, Any], Any]
MENDS: dict[str, Mend] = {
    **data_movement.MENDS,
    **arithmetic.MENDS,
    **conv_transpose.MENDS,
    **quantised_pool.MENDS,
}

# Operators whose TVM converter takes the result's shape from the file, not from its inputs.
DECLARES_SHAPE = frozenset(
    {"BROADCAST_TO", "RANDOM_UNIFORM", "RFFT2D", "SVDF", "UNIQUE", "WHILE", "IF", "CALL"}
)


def converter_class(
    custom_ops: Mapping[str, Callable[..., Any]], mended: list[str], resized: bool
) -> type:
    """Make the class that TVM's frontend instantiates once for each subgraph.

    Args:
        custom_ops: Implementations by the custom operator's name, with or without ``tflite::``.
        mended: Receives the name of every operator that was not left to TVM's own converter.
        resized: The caller gave other shapes than the file declares.
    """
    custom = {name.partition("::")[2] or name: function for name, function in custom_ops.items()}

    class Converter(OperatorConverter):  # type: ignore[misc]
        _SUPPORTED_QUANTIZED_OPS = (
            OperatorConverter._SUPPORTED_QUANTIZED_OPS | data_movement.KEEPS_QUANTISED_VALUES
        )

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.known: dict[int, np.ndarray] = {}
            self.current = ""

        def get_op_code_str(self, op: Any) -> str:
            name, is_custom = operator_name(self.model, op, self.builtin_op_code)
            if is_custom and name == DETECTION_POSTPROCESS and name not in custom:
                return "DETECTION_POSTPROCESS"
            return name

        def check_unsupported_ops(self) -> None:
            """Do nothing: ``refuse`` has looked at every subgraph before the import began."""

        def get_tensor_value(self, tensor_wrapper: Any, is_sparse: bool = False) -> np.ndarray:
            index = int(tensor_wrapper.tensor_idx)
            if not self.has_constant(index):
                name = get_tensor_name(self.subgraph, index)
                raise UnsupportedOperator(
                    f"{self.current} needs the value of {name!r} while the model is loaded, "
                    f"but it is computed only when the model runs.",
                    operators=(self.current,),
                )
            known = self.known.get(index)
            value = super().get_tensor_value(tensor_wrapper, is_sparse) if known is None else known
            return np.asarray(value)

        def has_constant(self, index: int) -> bool:
            if index in self.known:
                return True
            if self.exp_tab.has_expr(get_tensor_name(self.subgraph, index)):
                return False
            return bool(self.model.Buffers(self.subgraph.Tensors(index).Buffer()).DataLength())

        def get_expr(self, input_tensor_idx: int) -> Any:
            # TVM looks only for results of operators here; a constant is a KeyError to it.
            name = get_tensor_name(self.subgraph, input_tensor_idx)
            if self.exp_tab.has_expr(name) or not self.has_constant(int(input_tensor_idx)):
                return self.exp_tab.get_expr(name)
            return self.get_tensor_expr(self.get_tensors([input_tensor_idx])[0])

        def get_tensor_shape(self, tensor_wrapper: Any) -> Any:
            # The file's shape is stale where the caller chose another one for an open dimension.
            name = get_tensor_name(self.subgraph, tensor_wrapper.tensor_idx)
            if self.exp_tab.has_expr(name):
                dims = dims_of(self.exp_tab.get_expr(name).ty)
                complex_pair = self._is_tflite_complex64_type(tensor_wrapper.tensor.Type())
                static = dims is not None and all(isinstance(dim, int) for dim in dims)
                if static and not complex_pair:
                    return np.array(dims, dtype="int32")
            elif tensor_wrapper.tensor.ShapeLength() == 0:
                return np.array([], dtype="int32")
            return super().get_tensor_shape(tensor_wrapper)

        def convert_op_to_relax(self) -> None:
            for position in range(self.subgraph.OperatorsLength()):
                op = self.subgraph.Operators(position)
                name = self.get_op_code_str(op)
                self.current = name
                outputs = self.get_output_tensors(op)
                values = shape_values.evaluate(self, name, op)
                if values is not None:
                    for tensor, value in zip(outputs, values, strict=True):
                        self.known[int(tensor.tensor_idx)] = value
                    continue
                result = self._convert(name, op, outputs)
                if result is None:
                    continue
                result = self.bb.normalize(result)
                fields = [result] if len(outputs) == 1 else [result[i] for i in range(len(outputs))]
                types = flatten_type(result.ty)
                for tensor, found, field in zip(outputs, types, fields, strict=True):
                    self._hold_against_file(name, tensor, found)
                    self.exp_tab.set_expr(
                        get_tensor_name(self.subgraph, tensor.tensor_idx), self.bb.normalize(field)
                    )

        def _convert(self, name: str, op: Any, outputs: list[Any]) -> Any:
            if name in custom:
                mended.append(name)
                inputs = [self.get_tensor_expr(t) for t in self.get_input_tensors(op)]
                options = op.CustomOptionsAsNumpy()
                attributes = {"custom_options": b"" if isinstance(options, int) else bytes(options)}
                return custom[name](self.bb, inputs, attributes)
            if resized and name in DECLARES_SHAPE:
                raise UnsupportedOperator(
                    f"{name} keeps the shape that the TFLite file declares, but shape_dict "
                    f"gives the model another one.",
                    operators=(name,),
                    hint="convert the model again with the shape that is wanted",
                )
            if name in data_movement.KEEPS_QUANTISED_VALUES:
                self._same_quantisation(name, op, outputs)
            if name in MENDS:
                result = MENDS[name](self, op)
                if result is not NotImplemented:
                    mended.append(name)
                    return result
            return self.convert_map[name](op=op)

        def _same_quantisation(self, name: str, op: Any, outputs: list[Any]) -> None:
            tensors = [t for t in (*self.get_input_tensors(op), *outputs) if t.qnn_params]
            if not all(self.has_same_qnn_params(tensors[0], other) for other in tensors[1:]):
                raise UnsupportedOperator(
                    f"{name} changes the quantisation from input to output.",
                    operators=(name,),
                    hint="convert the model again with a current TensorFlow",
                )

        def _hold_against_file(self, name: str, tensor: Any, found: Any) -> None:
            expected_dtype = self._get_relax_tensor_dtype(tensor)
            expected = declared_dims(tensor.tensor)
            dims = dims_of(found)
            complex_pair = self._is_tflite_complex64_type(tensor.tensor.Type())
            wrong = dtype_of(found) != expected_dtype
            if expected is not None and dims is not None and not complex_pair:
                wrong |= len(dims) != len(expected) or any(
                    isinstance(dim, int) and want != -1 and dim != want
                    for dim, want in zip(dims, expected, strict=False)
                )
            if wrong:
                raise UnsupportedOperator(
                    f"TVM's converter of {name} gives {dims} {dtype_of(found)} for the tensor "
                    f"{get_tensor_name(self.subgraph, tensor.tensor_idx)!r}, which the TFLite "
                    f"file declares as {expected} {expected_dtype}.",
                    operators=(name,),
                    hint="this configuration of the operator cannot be loaded right; "
                    "please report the model",
                )

    return Converter


def declared_dims(tensor: Any) -> tuple[int, ...] | None:
    """Give the shape that a TFLite file declares; -1 is an open dimension.

    None where the file does not say: an empty shape is a scalar only if ``has_rank`` is set,
    and files older than that field leave it open.
    """
    if tensor.ShapeSignatureLength():
        return tuple(int(dim) for dim in tensor.ShapeSignatureAsNumpy())
    if tensor.ShapeLength():
        return tuple(int(dim) for dim in tensor.ShapeAsNumpy())
    return () if tensor.HasRank() else None


def known_operators(model: Any) -> tuple[frozenset[str], frozenset[str]]:
    """List the builtin operators that can be converted, and those of them on quantised tensors."""
    from tvm import relax
    from tvm.relax.frontend.tflite.tflite_frontend import ExprTable

    probe = OperatorConverter(model, model.Subgraphs(0), ExprTable(), relax.BlockBuilder())
    markers = {"DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES"}
    supported = (frozenset(probe.convert_map) | frozenset(MENDS)) - markers
    return supported, frozenset(
        OperatorConverter._SUPPORTED_QUANTIZED_OPS | data_movement.KEEPS_QUANTISED_VALUES
    )
