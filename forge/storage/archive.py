"""Save an ``IRModule`` to one file and read it back.

The file is a zip archive: ``header.json`` (schema, names, history), ``module.json`` (TVM's own
JSON of the module, its constants taken out as extra parameters of ``main``'s functions) and one
member of raw bytes a constant. Reading it runs no code from it.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from forge.errors import ForgeError, InvalidInput
from forge.files import whole_file
from forge.specs import Step, TensorSpec

if TYPE_CHECKING:
    from forge.ir import IRModule

SCHEMA = 1
_FORMAT = "forge-ir"


def save(ir: IRModule, path: str | PathLike[str]) -> None:
    """Write ``ir``; see ``IRModule.save``. An existing file is replaced only by a whole new one."""
    from forge.storage.constants import extract_constants

    module, tensors = extract_constants(ir.module)
    header = {
        "format": _FORMAT,
        "schema": SCHEMA,
        "inputs": [asdict(spec) for spec in ir.inputs],
        "outputs": [asdict(spec) for spec in ir.outputs],
        "history": [asdict(step) for step in ir.history],
        "constants": [
            {"shape": list(tensor.shape), "dtype": str(tensor.dtype)} for tensor in tensors
        ],
    }
    text = _to_json(module)
    try:
        with whole_file(path) as stream, zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("header.json", json.dumps(header))
            archive.writestr("module.json", text, zipfile.ZIP_DEFLATED)
            for index, tensor in enumerate(tensors):
                with archive.open(f"constants/{index}", "w", force_zip64=True) as member:
                    member.write(tensor.numpy().tobytes())
    except OSError as error:
        raise ForgeError(f"cannot write {fspath(path)!r}: {error}") from error


def load(path: str | PathLike[str]) -> IRModule:
    """Read what ``save`` wrote; see ``forge.load``."""
    import tvm

    from forge.ir import IRModule
    from forge.storage.constants import restore_constants

    where = fspath(path)
    try:
        with zipfile.ZipFile(path) as archive:
            header = _header(archive, where)
            tensors = [
                _tensor(archive.read(f"constants/{index}"), record)
                for index, record in enumerate(header["constants"])
            ]
            module = restore_constants(
                tvm.ir.load_json(archive.read("module.json").decode()), tensors
            )
        return IRModule(
            module,
            inputs=[_spec(record) for record in header["inputs"]],
            outputs=[_spec(record) for record in header["outputs"]],
            history=[Step(**{**r, "details": tuple(r["details"])}) for r in header["history"]],
        )
    except FileNotFoundError as error:
        raise InvalidInput(f"no file at {where!r}.") from error
    except ForgeError:
        raise
    except Exception as error:
        raise InvalidInput(
            f"{where!r} is not a whole file of IRModule.save: {type(error).__name__}: {error}",
            hint="load the model again with its loader and save it anew",
        ) from error


def _to_json(module: Any) -> str:
    import tvm
    import tvm_ffi

    # Measured: tvm.ir.save_json ends the process with SIGSEGV under apache-tvm-ffi 0.1.15.
    if str(tvm_ffi.__version__).startswith("0.1.15"):
        raise ForgeError(
            f"apache-tvm-ffi {tvm_ffi.__version__} crashes when a module is serialised.",
            hint="pip install 'apache-tvm-ffi<0.1.15'",
        )
    return str(tvm.ir.save_json(module))


def _header(archive: zipfile.ZipFile, where: str) -> dict[str, Any]:
    header: dict[str, Any] = json.loads(archive.read("header.json"))
    if header.get("format") != _FORMAT:
        raise InvalidInput(f"{where!r} is an archive, but none that IRModule.save wrote.")
    if header["schema"] > SCHEMA:
        raise InvalidInput(
            f"{where!r} has schema {header['schema']}; this Forge reads up to {SCHEMA}.",
            hint="upgrade forge-validation",
        )
    return header


def _tensor(data: bytes, record: dict[str, Any]) -> Any:
    import ml_dtypes  # noqa: F401  registers bfloat16 and the float8 types with numpy
    import numpy as np
    import tvm

    array = np.frombuffer(data, dtype=np.dtype(record["dtype"])).reshape(record["shape"])
    return tvm.runtime.tensor(array)


def _spec(record: dict[str, Any]) -> TensorSpec:
    return TensorSpec(record["name"], tuple(record["shape"]), record["dtype"])
