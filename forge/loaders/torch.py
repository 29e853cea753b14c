"""Load PyTorch models."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from forge import stages
from forge.errors import ForgeError, InvalidInput, LoadError
from forge.frameworks import require
from forge.loaders._finish import Fold, finish, selected_passes
from forge.specs import Step, TensorSpec

if TYPE_CHECKING:
    from forge.ir import IRModule

_RESERVED_ARGUMENTS = frozenset(
    {"custom_convert_map", "run_ep_decomposition", "keep_params_as_input", "no_bind_return_tuple"}
)


def from_torch(
    torch_model: Any,
    input_info: Sequence[Any] | None = None,
    *,
    fold: Fold = True,
    prepare: bool = True,
    keep_unfolded: bool = False,
    custom_ops: Mapping[str, Callable[..., Any]] | None = None,
    custom_convert_map: Mapping[str, Callable[..., Any]] | None = None,
    frontend_args: Mapping[str, Any] | None = None,
) -> IRModule:
    """Load a PyTorch model.

    Args:
        torch_model: A ``torch.nn.Module`` (loaded in eval mode, itself left unchanged), a
            traced or scripted ``torch.jit.ScriptModule``, a ``torch.fx.GraphModule``, or a
            ``torch.export.ExportedProgram``.
        input_info: ``[(name, shape[, dtype]), ...]``, one entry for each positional argument of
            ``forward``, in its order. A str dimension is symbolic; the dtype (a str or a
            ``torch.dtype``) is float32 where left out. Only an ``ExportedProgram`` needs none.
        fold: Which folding passes run: True, False, or some of ``("constants", "batch_norm")``.
        prepare: Rewrite what TVM's frontend converts wrong. False leaves the program to TVM.
        keep_unfolded: Keep the module before folding in ``IRModule.unfolded``.
        custom_ops: Converters of operators of your own, by ``domain::Name``:
            ``f(builder, inputs, attrs) -> relax.Expr``.
        custom_convert_map: TVM's own argument: converters ``f(node, importer) -> relax.Var``
            by name and overload, such as ``"add.Tensor"``; they win over all others.
        frontend_args: Further arguments of ``from_exported_program``.

    Raises:
        InvalidInput: Not a model, or ``input_info`` does not fit it.
        UnsupportedOperator: Operators that cannot be loaded right; all of them are named.
        LoadError: ``torch.export`` or TVM's frontend failed on it.
        MissingFramework: The package ``torch`` is not installed.
    """
    stages.enter("load")
    selected_passes(fold)
    _refuse_what_is_no_model(torch_model)
    torch = require("torch", "forge.from_torch")
    reserved = sorted(_RESERVED_ARGUMENTS.intersection(frontend_args or ()))
    if reserved:
        raise InvalidInput(
            f"frontend_args may not set {', '.join(reserved)}: the loader does.",
            hint="custom_convert_map is an argument of forge.from_torch itself",
        )
    is_program = isinstance(torch_model, torch.export.ExportedProgram)
    if not is_program and not isinstance(torch_model, torch.nn.Module):
        raise InvalidInput(
            f"torch_model is a {type(torch_model).__name__}.",
            hint="give a torch.nn.Module, a torch.jit.ScriptModule, a torch.fx.GraphModule "
            "or a torch.export.ExportedProgram",
        )
    from forge.prepare.torch.inputs import HINT, parse_input_info

    if input_info is None and not is_program:
        raise InvalidInput("input_info is missing: the model has no shapes of its own.", hint=HINT)
    specs = None if input_info is None else parse_input_info(input_info)
    options = _Options(
        fold=fold,
        prepare=prepare,
        keep_unfolded=keep_unfolded,
        custom_ops=dict(custom_ops or {}),
        custom_convert_map=dict(custom_convert_map or {}),
        frontend_args=dict(frontend_args or {}),
    )
    if is_program:
        return _import_program(torch_model, specs, [_route("given as ExportedProgram")], options)
    assert specs is not None
    if isinstance(torch_model, torch.jit.ScriptModule):
        return _load_script(torch_model, specs, options)
    return _load_module(torch_model, specs, options)


class _Options:
    def __init__(
        self,
        fold: Fold,
        prepare: bool,
        keep_unfolded: bool,
        custom_ops: dict[str, Callable[..., Any]],
        custom_convert_map: dict[str, Callable[..., Any]],
        frontend_args: dict[str, Any],
    ) -> None:
        self.fold = fold
        self.prepare = prepare
        self.keep_unfolded = keep_unfolded
        self.custom_ops = custom_ops
        self.custom_convert_map = custom_convert_map
        self.frontend_args = frontend_args


def _load_module(module: Any, specs: tuple[TensorSpec, ...], options: _Options) -> IRModule:
    from forge.prepare.torch.export import check_argument_count, eval_copy, export_module

    duplicate, steps = eval_copy(module)
    check_argument_count(duplicate, specs)
    program, bounds = export_module(duplicate, specs)
    history = [*steps, _route("torch.export"), *bounds]
    return _import_export(duplicate, program, specs, history, options)


def _load_script(script: Any, specs: tuple[TensorSpec, ...], options: _Options) -> IRModule:
    from forge.prepare.torch.export import export_module
    from forge.prepare.torch.script_interpreter import Interpreted, has_state
    from forge.prepare.torch.torchscript import Hidden, check_script_arguments, frozen_copy

    check_script_arguments(script, specs)
    frozen = frozen_copy(script)
    how = "TorchScript, frozen, through torch.export"
    try:
        if has_state(frozen):
            raise LoadError("the module writes to its buffers")
        program, bounds = export_module(Hidden(frozen), specs)
    except ForgeError as reason:
        how = f"TorchScript, operator by operator, through torch.export, since: {reason.message}"
        program, bounds = export_module(Interpreted(frozen), specs)
    return _import_export(Hidden(frozen), program, specs, [_route(how), *bounds], options)


def _import_export(
    module: Any,
    program: Any,
    specs: tuple[TensorSpec, ...],
    history: list[Step],
    options: _Options,
) -> IRModule:
    """Import what was exported here; torch.export lets a wrong dtype pass, the module does not."""
    from forge.prepare.torch.export import check_runs

    try:
        return _import_program(program, specs, history, options)
    except LoadError:
        check_runs(module, specs)
        raise


def _import_program(
    program: Any, specs: tuple[TensorSpec, ...] | None, history: list[Step], options: _Options
) -> IRModule:
    from forge.prepare.torch import program as border
    from forge.prepare.torch.decompositions import decompose
    from forge.prepare.torch.export import quiet, shortened
    from forge.prepare.torch.frontend import call_frontend
    from forge.prepare.torch.symbolic_names import match_inputs, program_inputs, rename_symbols

    own = program_inputs(program)
    names = match_inputs(own, specs) if specs is not None else {}
    output_names = border.output_names(program)
    try:
        with quiet():
            if options.prepare:
                program, step = decompose(program)
                history.append(step)
            else:
                program = program.run_decompositions()
    except ForgeError:
        raise
    except Exception as error:
        raise LoadError(
            f"torch cannot decompose the program: {type(error).__name__}: {shortened(error)}",
            hint="prepare=False leaves out Forge's own rewrites",
        ) from error
    for optional in (border.drop_none_outputs(program), border.mutation_step(program)):
        if optional is not None:
            history.append(optional)
    stages.show_prepared("torch", program)
    border.own_weights(program)
    module = call_frontend(
        program,
        own_converters=options.prepare,
        custom_ops=options.custom_ops,
        custom_convert_map=options.custom_convert_map,
        frontend_args=options.frontend_args,
    )
    return finish(
        rename_symbols(module, names),
        input_names=[spec.name for spec in (specs or own)],
        output_names=output_names,
        history=[step for step in history if step.count],
        fold=options.fold,
        keep_unfolded=options.keep_unfolded,
    )


def _route(how: str) -> Step:
    return Step("route", how, count=1)


def _refuse_what_is_no_model(model: Any) -> None:
    if isinstance(model, (str, bytes, PathLike, io.IOBase)):
        raise InvalidInput(
            f"torch_model is a {type(model).__name__}, expected a model in memory.",
            hint="open the file first: torch.jit.load(path) or torch.export.load(path)",
        )
    if isinstance(model, Mapping):
        raise InvalidInput(
            "torch_model is a dict, as a state_dict is: weights without the model's code.",
            hint="build the model and call model.load_state_dict(state_dict), then give the model",
        )
