"""The last steps that all loaders share: name the borders, fold, build the IR."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from forge import stages
from forge.errors import FoldError, ForgeError, InvalidInput, LoadError
from forge.ir import IRModule
from forge.specs import Step

Fold = bool | Sequence[str]
PASSES = ("constants", "batch_norm")


def selected_passes(fold: Fold) -> tuple[str, ...]:
    """Resolve a loader's ``fold`` argument into names of passes.

    Raises:
        InvalidInput: A name that is no pass.
    """
    if isinstance(fold, bool):
        return PASSES if fold else ()
    names = (fold,) if isinstance(fold, str) else tuple(fold)
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        raise InvalidInput(
            f"fold={fold!r} names {', '.join(map(repr, unknown))}, which is no folding pass.",
            hint=f"use True, False, or a tuple of {', '.join(map(repr, PASSES))}",
        )
    return names


def finish(
    module: Any,
    *,
    input_names: Sequence[str],
    output_names: Sequence[str],
    history: Iterable[Step],
    fold: Fold,
    keep_unfolded: bool,
) -> IRModule:
    """Turn what TVM's frontend made into the loader's result.

    Args:
        module: A ``tvm.IRModule`` whose ``main`` takes exactly the model's inputs, in order,
            and owns all its weights as constants.
        input_names: The framework's names, one a parameter of ``main``.
        output_names: The framework's names, one a tensor of the (flattened) result.
        history: What the loader did so far.
        fold: Which folding passes run.
        keep_unfolded: Keep the module as it was before them.

    Raises:
        LoadError: The frontend's result has not that many inputs or outputs.
        UnsupportedOperator: Operators over empty tensors, which TVM computes wrong.
        FoldError: A pass failed.
    """
    from forge import _tvm
    from forge.loaders._empty_operands import refuse_empty_operands
    from forge.passes import run_passes

    passes = selected_passes(fold)
    main = module["main"]
    results = _tvm.flatten_type(main.ret_ty)
    _same_count("inputs", input_names, len(main.params))
    _same_count("outputs", output_names, len(results))
    _unique("inputs", input_names)
    _unique("outputs", output_names)

    refuse_empty_operands(module)
    stages.enter("fold")
    try:
        folded, steps = run_passes(module, passes)
    except ForgeError:
        raise
    except Exception as error:
        raise FoldError(
            f"folding failed: {type(error).__name__}: {error}",
            hint="fold=False loads the model as it is; please report the model",
        ) from error
    main = folded["main"]
    return IRModule(
        folded,
        inputs=[
            _tvm.spec_of(name, param.ty)
            for name, param in zip(input_names, main.params, strict=True)
        ],
        outputs=[
            _tvm.spec_of(name, leaf)
            for name, leaf in zip(output_names, _tvm.flatten_type(main.ret_ty), strict=True)
        ],
        history=(*history, *steps),
        unfolded=module if keep_unfolded else None,
    )


def _same_count(what: str, names: Sequence[str], found: int) -> None:
    if len(names) != found:
        raise LoadError(
            f"the imported module has {found} {what}, "
            f"the model has {len(names)}: {', '.join(names) or 'none'}."
        )


def _unique(what: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if list(names).count(name) > 1})
    if twice:
        raise InvalidInput(
            f"the model's {what} are not told apart: {', '.join(twice)} occurs twice."
        )
