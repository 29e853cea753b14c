import sys
import types

import pytest

import forge
from forge.frameworks import is_instance_of, require


def test_missing_framework_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(forge.MissingFramework, match=r"pip install 'forge-validation\[torch\]'"):
        require("torch", "forge.from_torch")


def test_missing_package_is_told_from_a_broken_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    folder = types.SimpleNamespace(path=str(tmp_path))
    with open(f"{folder.path}/tflite.py", "w") as stream:
        stream.write("import no_such_dependency\n")
    monkeypatch.syspath_prepend(folder.path)
    monkeypatch.delitem(sys.modules, "tflite", raising=False)
    with pytest.raises(forge.MissingFramework, match=r"cannot be imported.*no_such_dependency"):
        require("tflite", "forge.from_tflite")


def test_the_same_error_says_not_installed() -> None:
    with pytest.raises(forge.MissingFramework, match="is not installed"):
        require("no_such_framework", "this test")


def test_instances_are_recognised_by_root_module_and_class() -> None:
    class Module:
        pass

    Module.__module__ = "torch.nn.modules.module"

    class Network(Module):
        pass

    assert is_instance_of(Network(), "torch", "Module")
    assert not is_instance_of(Network(), "keras", "Module")
    assert not is_instance_of(Network(), "torch", "ScriptModule")
