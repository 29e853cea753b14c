"""Hand a prepared program to TVM's ``from_exported_program``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from tvm.relax.frontend.torch import from_exported_program
from tvm.relax.frontend.torch.exported_program_translator import ExportedProgramImporter

from forge.errors import ForgeError, InvalidInput, LoadError
from forge.prepare.torch.converters import converters
from forge.prepare.torch.guard import GuardedConverters
from forge.prepare.torch.refusals import called_operators, refuse


def call_frontend(
    program: Any,
    *,
    own_converters: bool,
    custom_ops: Mapping[str, Callable[..., Any]],
    custom_convert_map: Mapping[str, Callable[..., Any]],
    frontend_args: Mapping[str, Any],
) -> Any:
    """Import a decomposed ``ExportedProgram``.

    Args:
        program: After decomposition; its weights become the module's constants.
        own_converters: Use Forge's converters beside TVM's.
        custom_ops: The caller's converters by ``domain::Name``.
        custom_convert_map: The caller's converters by ``name.overload``.
        frontend_args: Further arguments of ``from_exported_program``.

    Raises:
        InvalidInput: ``frontend_args`` has an argument that TVM does not know.
        UnsupportedOperator: Operators that cannot be loaded right; all of them are named.
        LoadError: TVM failed.
    """
    accepted = inspect.signature(from_exported_program).parameters
    unknown = sorted(set(frontend_args) - set(accepted))
    if unknown:
        raise InvalidInput(
            f"frontend_args has {', '.join(unknown)}, which from_exported_program does not take.",
            hint=f"it takes {', '.join(list(accepted)[1:])}",
        )
    own = converters() if own_converters else {}
    known = {*ExportedProgramImporter().convert_map, *own, *custom_convert_map}
    refuse(program, known, {*custom_ops, *custom_convert_map})
    guarded = GuardedConverters(own, custom_convert_map, custom_ops)
    names = {node.target.__name__ for node in called_operators(program)}
    arguments = {"unwrap_unit_return_tuple": True, **frontend_args}
    try:
        return from_exported_program(
            program,
            run_ep_decomposition=False,
            custom_convert_map=guarded.convert_map(names),
            **arguments,
        )
    except ForgeError:
        raise
    except Exception as error:
        raise LoadError(
            f"TVM's torch frontend failed: {type(error).__name__}: {error}",
            hint="please report the model",
        ) from error
