"""Run a compiled model on numpy arrays."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from forge.compile import metadata as _metadata
from forge.compile.binding import bind_arrays
from forge.errors import CompileError, InvalidInput, RunError
from forge.specs import TensorSpec, describe

# TVM links with the first of these that it finds.
_COMPILERS = ("g++", "gcc", "clang++", "clang", "c++", "cc")


class Executable:
    """A compiled model.

    Attributes:
        inputs: Name, shape and dtype of each input.
        outputs: The same of each output.
        target: The TVM target as text.
    """

    def __init__(self, library: Any, metadata: _metadata.Metadata) -> None:
        self._library = library
        self._machine: Any = None
        self._device_kind = metadata.device_kind
        self._lower_bounds = metadata.lower_bounds
        self.inputs = metadata.inputs
        self.outputs = metadata.outputs
        self.target = metadata.target

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Run the model on arrays by input name.

        Args:
            inputs: One array an input, of exactly its dtype and of a shape that fits its spec.

        Returns:
            One new array an output, by output name, in order.

        Raises:
            InvalidInput: A missing or unknown name, a wrong dtype or shape.
            RunError: The device is missing or the code failed.
        """
        import tvm

        arrays = bind_arrays(self.inputs, inputs, self._lower_bounds)
        machine, device = self._vm()
        try:
            result = machine["main"](*(tvm.runtime.tensor(array, device) for array in arrays))
            leaves = [leaf.numpy() for leaf in _flatten(result)]
        except Exception as error:
            raise RunError(f"the compiled model failed: {type(error).__name__}: {error}") from error
        for spec, leaf in zip(self.outputs, leaves, strict=True):
            _check_leaf(spec, leaf)
        return {spec.name: leaf for spec, leaf in zip(self.outputs, leaves, strict=True)}

    def __call__(self, *arrays: Any) -> np.ndarray | tuple[np.ndarray, ...]:
        """Run the model on arrays in the order of ``inputs``; one output comes bare.

        Raises:
            InvalidInput: Too few or too many arrays, a wrong dtype or shape.
            RunError: The device is missing or the code failed.
        """
        if len(arrays) != len(self.inputs):
            names = ", ".join(spec.name for spec in self.inputs) or "none"
            raise InvalidInput(
                f"{len(arrays)} inputs given, the model takes {len(self.inputs)}: {names}."
            )
        named = {spec.name: array for spec, array in zip(self.inputs, arrays, strict=True)}
        results = tuple(self.run(named).values())
        return results[0] if len(results) == 1 else results

    def export_library(self, path: str | PathLike[str]) -> None:
        """Write a shared library that ``forge.load_executable`` reads.

        Raises:
            CompileError: The library cannot be linked or written.
        """
        if not any(map(shutil.which, _COMPILERS)):
            raise CompileError(
                f"cannot write the library {fspath(path)!r}: no C++ compiler is on the PATH.",
                hint="install g++ or clang++; TVM links a library with it",
            )
        try:
            self._library.export_library(fspath(path))
        except Exception as error:
            raise CompileError(f"cannot write the library {fspath(path)!r}: {error}") from error

    def __repr__(self) -> str:
        inputs, outputs = describe(self.inputs), describe(self.outputs)
        return f"forge.Executable(inputs=[{inputs}], outputs=[{outputs}], target={self.target})"

    @property
    def device_exists(self) -> bool:
        """Tell whether this machine has a device to run the code on."""
        import tvm

        return bool(tvm.runtime.device(self._device_kind, 0).exist)

    def _vm(self) -> tuple[Any, Any]:
        import tvm
        from tvm import relax

        device = tvm.runtime.device(self._device_kind, 0)
        if self._machine is None:
            if not self.device_exists:
                raise RunError(
                    f"this machine has no {self._device_kind} device to run {self.target} on.",
                    hint="compile with target='llvm' to run on the CPU",
                )
            try:
                self._machine = relax.VirtualMachine(self._library, device)
            except Exception as error:
                raise RunError(f"the compiled model cannot be set up: {error}") from error
        return self._machine, device


def load_executable(path: str | PathLike[str]) -> Executable:
    """Read a library that ``Executable.export_library`` wrote. Its code is run: trust its source.

    Raises:
        InvalidInput: No such file, or not a library of Forge's.
    """
    import tvm
    from tvm import relax

    file = Path(path)
    if not file.is_file():
        raise InvalidInput(f"no library at {fspath(path)!r}.")
    try:
        library = tvm.runtime.load_module(fspath(file.resolve()))
        metadata = _metadata.read(relax.VirtualMachine(library, tvm.cpu()))
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(
            f"{fspath(path)!r} is not a library that Executable.export_library wrote: {error}"
        ) from error
    return Executable(library, metadata)


def _check_leaf(spec: TensorSpec, leaf: np.ndarray) -> None:
    """Refuse a result that is not of the type its module promises, such as an integer mean's."""
    if leaf.dtype.name != spec.dtype or not spec.fits(leaf.shape):
        raise RunError(
            f"output {spec.name!r} came out as {leaf.dtype.name}{leaf.shape}, "
            f"and the module promises {spec}.",
            hint="an operator is compiled wrong; please report the model",
        )


def _flatten(result: Any) -> list[Any]:
    if hasattr(result, "numpy"):
        return [result]
    return [leaf for item in result for leaf in _flatten(item)]
