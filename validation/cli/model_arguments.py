"""The arguments that commands on one model file share."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

FRAMEWORKS = ("onnx", "torch", "tensorflow", "keras", "tflite")


@dataclass(frozen=True)
class InputShape:
    """One ``--input NAME=1x3x224x224[:dtype]``."""

    name: str
    shape: tuple[int | str, ...]
    dtype: str | None


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and what is needed to open and load it."""
    parser.add_argument(
        "model",
        metavar="MODEL",
        type=Path,
        help=".onnx, .pt, .pt2, .keras, .h5, .tflite, .pb, or a SavedModel folder",
    )
    parser.add_argument("--framework", choices=FRAMEWORKS, help="where the name does not say it")
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        type=parse_input,
        metavar="NAME=1x3x224x224[:dtype]",
        help="shape of an input; a dimension may be a name: Nx3, or N,max if a name holds an x "
        "(repeatable)",
    )
    parser.add_argument("--signature", help="which signature of a SavedModel")
    parser.add_argument(
        "--outputs", help="names of the output tensors of a frozen graph, separated by commas"
    )
    parser.add_argument(
        "--trust", action="store_true", help="let code inside the file run (pickles, Lambda layers)"
    )


def parse_input(text: str) -> InputShape:
    """Read one ``NAME=1x3x224x224[:dtype]``; the name may hold ``=`` and ``:``.

    Commas may stand for ``x``, for dimensions whose names hold that letter.

    Raises:
        argparse.ArgumentTypeError: It has not that form.
    """
    name, equals, rest = text.rpartition("=")
    dims, _, dtype = rest.partition(":")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=1x3x224x224[:dtype]")
    parts = dims.split("," if "," in dims else "x") if dims else ()
    shape = tuple(_dimension(part, text) for part in parts)
    return InputShape(name, shape, dtype or None)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read a file of arrays; see ``validation.inputs.examples``, which needs numpy."""
    from validation.inputs import examples

    return examples.read_arrays(path)


def loader_options(
    arguments: argparse.Namespace,
    framework: str,
    arrays: Mapping[str, np.ndarray] | None = None,
) -> dict[str, Any]:
    """Turn the command line's words into keyword arguments of the framework's loader.

    Raises:
        InvalidInput: An option that the framework's loader has not.
    """
    from forge import InvalidInput

    options: dict[str, Any] = {}
    shapes: list[InputShape] = arguments.input
    if framework == "torch":
        if shapes:
            options["input_info"] = [(s.name, s.shape, s.dtype or "float32") for s in shapes]
    elif shapes:
        options["shape_dict"] = {s.name: s.shape for s in shapes}
        dtypes = {s.name: s.dtype for s in shapes if s.dtype}
        if dtypes:
            if framework not in ("onnx", "tflite"):
                raise InvalidInput(f"a {framework} model has its own dtypes; leave out :dtype.")
            options["dtype_dict"] = dtypes
    for name, value in (("signature", arguments.signature), ("outputs", arguments.outputs)):
        if value is None:
            continue
        if framework != "tensorflow":
            raise InvalidInput(f"--{name} is for TensorFlow models, this is one of {framework}.")
        options[name] = value.split(",") if name == "outputs" else value
    if arrays is not None:
        from validation.checking import options_of_arrays

        options = {**options_of_arrays(framework, arrays), **options}
    return options


def _dimension(part: str, text: str) -> int | str:
    if part.isdecimal():
        return int(part)
    if part.isidentifier():
        return part
    raise argparse.ArgumentTypeError(
        f"{part!r} in {text!r} is no dimension: use a number, or a name such as N"
    )
