"""Say at once what the checker lacks, rather than one package after the other while it works."""

from __future__ import annotations

from importlib.util import find_spec

from forge import MissingFramework

_MODULES = ("cloudpickle", "jinja2", "psutil", "rich")


def require_checker() -> None:
    """Make sure that the packages of the extra ``validation`` are installed.

    Raises:
        MissingFramework: Some are not; all of them are named.
    """
    missing = [name for name in _MODULES if find_spec(name) is None]
    if missing:
        raise MissingFramework(
            f"checking needs the packages {', '.join(missing)}, which are not installed.",
            hint="pip install 'forge-validation[onnx]', or the extra of your framework: torch, "
            "tensorflow, keras, tflite, all",
        )
