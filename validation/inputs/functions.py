"""Find the user's function that makes inputs. Its file is executed: only on an explicit flag."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from forge import InvalidInput

_FORM = "FILE.py:NAME or package.module:NAME"


@dataclass(frozen=True)
class InputFunction:
    """A user's function, looked up anew in each process that calls it.

    Attributes:
        module: An absolute path that ends in ``.py``, or a module's dotted name.
        name: The function's name in it.
        folder: Where modules are looked for beside the usual places.
    """

    module: str
    name: str
    folder: str

    def __call__(self, seed: int) -> Mapping[str, np.ndarray]:
        result: Mapping[str, np.ndarray] = self.function()(seed)
        return result

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"

    def function(self) -> Callable[[int], Any]:
        """Execute the module and give the function.

        Raises:
            InvalidInput: The module cannot be executed, or has no such function.
        """
        try:
            module = self._imported()
        except Exception as error:
            raise InvalidInput(
                f"the input function {self} cannot be loaded: {type(error).__name__}: {error}",
                hint=f"give it as {_FORM}",
            ) from error
        function = getattr(module, self.name, None)
        if not callable(function):
            state = "no function" if function is None else f"a {type(function).__name__} called"
            raise InvalidInput(f"{self.module} has {state} {self.name!r}, expected a function.")
        found: Callable[[int], Any] = function
        return found

    def _imported(self) -> Any:
        before = list(sys.path)
        sys.path.insert(0, self.folder)
        try:
            if not self.module.endswith(".py"):
                return importlib.import_module(self.module)
            # Under a name that no import can meet, so that a file called random.py hides nothing.
            name = f"forge_input_function:{self.module}"
            if name not in sys.modules:
                spec = importlib.util.spec_from_file_location(name, self.module)
                if spec is None or spec.loader is None:
                    raise ImportError("it is no Python file")
                module = importlib.util.module_from_spec(spec)
                sys.modules[name] = module
                try:
                    spec.loader.exec_module(module)
                except BaseException:
                    del sys.modules[name]
                    raise
            return sys.modules[name]
        finally:
            sys.path[:] = before


def input_function(text: str) -> InputFunction:
    """Read ``FILE.py:NAME`` or ``package.module:NAME``, and make sure that it can be loaded.

    Modules are found beside the file, or in the current folder.

    Raises:
        InvalidInput: Another form, no such file or module, or no such function in it.
    """
    module, colon, name = text.rpartition(":")
    if not (colon and module and name.isidentifier()):
        raise InvalidInput(f"the input function {text!r} is not {_FORM}.")
    folder = Path.cwd()
    if module.endswith(".py"):
        path = Path(module).resolve()
        if not path.is_file():
            raise InvalidInput(f"there is no file {module!r} to take {name!r} from.")
        module, folder = str(path), path.parent
    found = InputFunction(module, name, str(folder))
    found.function()
    return found
