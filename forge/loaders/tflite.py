"""Load TFLite models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from forge import stages
from forge.errors import ForgeError, InvalidInput, LoadError
from forge.frameworks import require
from forge.ir import IRModule
from forge.loaders._finish import Fold, finish, selected_passes
from forge.specs import Step, TensorSpec, describe

_DTYPES = {
    "FLOAT16": "float16",
    "FLOAT32": "float32",
    "FLOAT64": "float64",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "BOOL": "bool",
    "COMPLEX64": "complex64",
    "STRING": "string",
}


def from_tflite(
    tflite_model: object,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
    *,
    fold: Fold = True,
    prepare: bool = True,
    keep_unfolded: bool = False,
    custom_ops: Mapping[str, Callable[..., Any]] | None = None,
    frontend_args: Mapping[str, Any] | None = None,
) -> IRModule:
    """Load a TFLite model.

    Inputs and outputs have the names and the order of the file's first subgraph.

    Args:
        tflite_model: The file's bytes, or a ``Model`` / ``ModelT`` object of the schema of the
            packages tflite, tensorflow or ai_edge_litert.
        shape_dict: Shapes by input name. Needed for inputs whose batch or other dimension the
            file leaves open; other dimensions must be the file's own.
        dtype_dict: Expected dtypes by input name; another than the file's is refused.
        fold: Which folding passes run: True, False, or a tuple of names.
        prepare: Mend what TVM's frontend gets wrong. False gives TVM the file as it is.
        keep_unfolded: Keep the module as it was before folding in ``IRModule.unfolded``.
        custom_ops: Implementations of custom operators by name, ``f(builder, inputs, attrs)``
            → ``relax.Expr``; ``attrs["custom_options"]`` holds the operator's own bytes.
        frontend_args: Arguments for TVM's ``from_tflite`` as they are. An ``op_converter``
            replaces Forge's own, and with it what ``prepare`` does.

    Raises:
        InvalidInput: Not a whole TFLite model, shapes or dtypes that do not fit, several
            signatures.
        MissingFramework: The package tflite is not installed.
        UnsupportedOperator: Operators that cannot be loaded right, all of them.
        LoadError: TVM's frontend failed.
    """
    stages.enter("load")
    selected_passes(fold)
    require("tvm", "forge.from_tflite")
    require("tflite", "forge.from_tflite")
    from forge.prepare.tflite.read_buffer import parse, read_buffer
    from forge.prepare.tflite.unique_tensor_names import unique_tensor_names

    buffer = read_buffer(tflite_model)
    inputs, outputs = borders(parse(buffer))
    shapes = _check_shapes(inputs, shape_dict)
    _check_dtypes(inputs, dtype_dict)
    history: list[Step] = []
    if prepare:
        buffer, step = unique_tensor_names(buffer)
        history += [step] if step else []
    stages.show_prepared("tflite", buffer)
    module, step = _import(buffer, inputs, shapes, prepare, custom_ops or {}, frontend_args or {})
    history += [step] if step else []
    return finish(
        module,
        input_names=[spec.name for spec in inputs],
        output_names=outputs,
        history=history,
        fold=fold,
        keep_unfolded=keep_unfolded,
    )


def borders(model: Any) -> tuple[tuple[TensorSpec, ...], tuple[str, ...]]:
    """Describe a parsed model's inputs, open dimensions as strings, and name its outputs.

    A tensor that is given back twice, or whose name another output has, gets its position
    appended, as TFLite tells outputs apart by position.
    """
    from forge.prepare.tflite.converter import declared_dims

    subgraph = model.Subgraphs(0)
    specs = []
    names: list[str] = []
    for position in range(subgraph.InputsLength()):
        tensor = subgraph.Tensors(subgraph.Inputs(position))
        dims = declared_dims(tensor) or ()
        name = _distinct(_name(tensor, position, "input"), position, names)
        names.append(name)
        shape = tuple(f"{_identifier(name)}_{i}" if d < 0 else d for i, d in enumerate(dims))
        specs.append(TensorSpec(name, shape, _dtype(tensor)))
    outputs: list[str] = []
    for position in range(subgraph.OutputsLength()):
        tensor = subgraph.Tensors(subgraph.Outputs(position))
        outputs.append(_distinct(_name(tensor, position, "output"), position, outputs))
    return tuple(specs), tuple(outputs)


def _identifier(name: str) -> str:
    text = "".join(c if c.isalnum() else "_" for c in name)
    return text if text.isidentifier() else f"dim_{text}"


def _name(tensor: Any, position: int, role: str) -> str:
    return str((tensor.Name() or b"").decode("utf-8")) or f"{role}_{position}"


def _distinct(name: str, position: int, taken: Sequence[str]) -> str:
    while name in taken:
        name = f"{name}_{position}"
    return name


def _dtype(tensor: Any) -> str:
    from tflite.TensorType import TensorType

    names = {code: name for name, code in vars(TensorType).items() if isinstance(code, int)}
    name = names.get(tensor.Type(), f"type {tensor.Type()}")
    return str(_DTYPES.get(name, name.lower()))


def _check_shapes(
    inputs: Sequence[TensorSpec], shape_dict: Mapping[str, Sequence[int]] | None
) -> dict[str, tuple[int, ...]]:
    given = dict(shape_dict or {})
    known = {spec.name for spec in inputs}
    unknown = [name for name in given if name not in known]
    if unknown:
        raise InvalidInput(
            f"shape_dict names {', '.join(map(repr, unknown))}, which is no input of the model; "
            f"it has: {describe(inputs)}.",
        )
    shapes: dict[str, tuple[int, ...]] = {}
    for spec in inputs:
        if spec.name not in given:
            if not spec.is_static:
                example = tuple(1 if isinstance(dim, str) else dim for dim in spec.shape)
                raise InvalidInput(
                    f"the TFLite model leaves dimensions of its input open: {spec}.",
                    hint=f"give its shape, for example shape_dict={{{spec.name!r}: {example}}}",
                )
            shapes[spec.name] = tuple(int(dim) for dim in spec.shape)
            continue
        shape = tuple(given[spec.name])
        if not all(isinstance(dim, int) and dim >= 0 for dim in shape):
            raise InvalidInput(
                f"shape_dict[{spec.name!r}] is {shape}; every dimension must be an int of at "
                f"least 0, TFLite models have no symbolic ones."
            )
        fits = len(shape) == len(spec.shape) and all(
            isinstance(have, str) or have == want
            for have, want in zip(spec.shape, shape, strict=True)
        )
        if not fits:
            raise InvalidInput(
                f"shape_dict gives {shape} for the input {spec}.",
                hint="only dimensions that the file leaves open can be chosen; "
                "convert the model again for other shapes",
            )
        shapes[spec.name] = shape
    return shapes


def _check_dtypes(inputs: Sequence[TensorSpec], dtype_dict: Mapping[str, str] | None) -> None:
    have = {spec.name: spec.dtype for spec in inputs}
    for name, dtype in dict(dtype_dict or {}).items():
        if name not in have:
            raise InvalidInput(
                f"dtype_dict names {name!r}, which is no input of the model; "
                f"it has: {describe(inputs)}."
            )
        if str(dtype) != have[name]:
            raise InvalidInput(
                f"dtype_dict gives {dtype} for the input {name!r}, the file says {have[name]}.",
                hint="TFLite operators are typed: convert the model again for another dtype",
            )


def _import(
    buffer: bytearray,
    inputs: Sequence[TensorSpec],
    shapes: Mapping[str, tuple[int, ...]],
    prepare: bool,
    custom_ops: Mapping[str, Callable[..., Any]],
    frontend_args: Mapping[str, Any],
) -> tuple[Any, Step | None]:
    from tvm.relax.frontend import tflite as frontend

    from forge.prepare.tflite import converter
    from forge.prepare.tflite.read_buffer import parse
    from forge.prepare.tflite.refuse import refuse

    model = parse(buffer)
    subgraph = model.Subgraphs(0)
    tensors = [subgraph.Tensors(subgraph.Inputs(i)) for i in range(len(inputs))]
    stored = [tuple(int(dim) for dim in _vector(tensor.ShapeAsNumpy())) for tensor in tensors]
    resized = stored != [shapes[spec.name] for spec in inputs]
    mended: list[str] = []
    cls = converter.converter_class(custom_ops, mended, resized)
    builtin = frontend.tflite_frontend.OperatorConverter if not prepare else cls
    arguments: dict[str, Any] = {
        "shape_dict": {
            (tensor.Name() or b"").decode("utf-8"): list(shapes[spec.name])
            for tensor, spec in zip(tensors, inputs, strict=True)
        },
        "op_converter": builtin,
        **frontend_args,
    }
    supported, quantised = converter.known_operators(model)
    refuse(model, supported, quantised, [name.rpartition("::")[2] for name in custom_ops])
    try:
        module = frontend.from_tflite(model, **arguments)
    except ForgeError:
        raise
    except Exception as error:
        raise LoadError(
            f"TVM's TFLite frontend failed: {type(error).__name__}: {error}",
            hint="load the model that the file was made from with its own loader",
        ) from error
    module["main"] = module["main"].without_attr("params").without_attr("num_input")
    if not mended:
        return module, None
    counts = Counter(mended)
    return module, Step(
        "tflite_operators",
        "TVM's own converter of these operators is wrong or missing",
        len(mended),
        tuple(f"{name}: {count}" for name, count in sorted(counts.items())),
    )


def _vector(values: Any) -> Any:
    return () if isinstance(values, int) else values
