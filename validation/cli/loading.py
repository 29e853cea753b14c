"""Open and load the model file of a command line, in the process at hand."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forge import IRModule


def load_file(arguments: argparse.Namespace) -> IRModule:
    """Load the file that ``add_model_arguments`` describes.

    Raises:
        ForgeError: It cannot be opened or loaded.
    """
    from validation.cli.model_arguments import loader_options
    from validation.references import framework_of_path

    framework = framework_of_path(arguments.model, arguments.framework)
    model = framework.open(arguments.model, trust=arguments.trust)
    return framework.load(model, loader_options(arguments, framework.name))
