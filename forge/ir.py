"""The intermediate representation that every loader returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from forge.specs import Step, TensorSpec, describe

if TYPE_CHECKING:
    from forge.compile.executable import Executable


class IRModule:
    """A model in TVM Relax, with the names and order its framework gave it.

    Attributes:
        module: The ``tvm.IRModule``; its ``main`` takes the inputs in order and holds all weights.
        inputs: Name, shape and dtype of each input, in the framework's order.
        outputs: The same of each output; nested results are flat, left to right.
        history: What each rewrite and folding pass did.
        unfolded: ``module`` before the folding passes, sharing its constants; None unless kept.
    """

    def __init__(
        self,
        module: Any,
        inputs: Sequence[TensorSpec],
        outputs: Sequence[TensorSpec],
        history: Sequence[Step] = (),
        unfolded: Any = None,
    ) -> None:
        self.module = module
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.history = tuple(history)
        self.unfolded = unfolded

    @property
    def operators(self) -> Counter[str]:
        """Count the Relax operators of the folded module, for example ``relax.nn.conv2d``."""
        from forge.inspection import count_operators

        return count_operators(self.module)

    def script(self) -> str:
        """Print the module as TVMScript; constants are left out."""
        return str(self.module.script(show_meta=False))

    def compile(
        self,
        target: str | Mapping[str, Any] | Any = "llvm",
        opt: str = "default",
    ) -> Executable:
        """Compile for a target.

        Args:
            target: ``"llvm"``, ``"cuda"``, or anything that ``tvm.target.Target`` takes.
            opt: ``"baseline"`` compiles as TVM does by itself; ``"default"`` as Forge does.

        Raises:
            InvalidInput: The target or ``opt`` is unknown.
            CompileError: TVM cannot compile the module for the target.
        """
        from forge.compile import compile_module

        return compile_module(self, target, opt)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the folded module, its names and its history to one file.

        Raises:
            ForgeError: The file cannot be written; nothing is left behind then.
        """
        from forge.storage.archive import save

        save(self, path)

    def __repr__(self) -> str:
        return (
            f"forge.IRModule(inputs=[{describe(self.inputs)}], outputs=[{describe(self.outputs)}])"
        )


def load(path: str | PathLike[str]) -> IRModule:
    """Read a module that ``IRModule.save`` wrote.

    Raises:
        InvalidInput: No such file, not such a file, or one of a newer schema.
    """
    from forge.storage.archive import load as read

    return read(path)
