from __future__ import annotations

import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from forge import InvalidInput
from validation.inputs.functions import input_function

SOURCE = """
from __future__ import annotations
from dataclasses import dataclass
import numpy as np
import neighbour_of_inputs

@dataclass
class Maker:
    size: int
    def make(self, seed):
        return {"x": np.full(self.size, seed + neighbour_of_inputs.OFFSET)}

def inputs(seed):
    return Maker(3).make(seed)

number = 5
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "neighbour_of_inputs.py").write_text("OFFSET = 100\n")
    path = tmp_path / "random.py"
    path.write_text(SOURCE)
    return path


def test_a_file(file: Path) -> None:
    before = list(sys.path)
    found = input_function(f"{file}:inputs")
    np.testing.assert_array_equal(found(1)["x"], [101, 101, 101])
    assert sys.path == before
    # The file is called like a module of Python's own, which stays what it is.
    assert importlib.import_module("random").__file__ != str(file)


def test_a_relative_path_still_leads_there_from_elsewhere(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    found = input_function("random.py:inputs")
    monkeypatch.chdir("/")
    assert found(0)["x"][0] == 100


def test_another_process_finds_it(file: Path) -> None:
    content = pickle.dumps(input_function(f"{file}:inputs"))
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer)(2)['x'])"
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code], input=content, capture_output=True, cwd=root, check=True
    )
    assert done.stdout.decode().strip() == "[102 102 102]"


def test_a_module_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "package_of_inputs"
    package.mkdir()
    (package / "module.py").write_text("def make(seed):\n    return {'x': seed}\n")
    monkeypatch.chdir(tmp_path)
    found = input_function("package_of_inputs.module:make")
    assert found(4) == {"x": 4}
    assert str(found) == "package_of_inputs.module:make"


@pytest.mark.parametrize("text", ["", "inputs", "file.py", ":inputs", "file.py:", "a.py:1x"])
def test_another_form(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"FILE\.py:NAME"):
        input_function(text)


def test_what_is_not_there(file: Path) -> None:
    with pytest.raises(InvalidInput, match="no file"):
        input_function("nowhere.py:inputs")
    with pytest.raises(InvalidInput, match="no_such_module_here"):
        input_function("no_such_module_here:inputs")
    with pytest.raises(InvalidInput, match="no function 'others'"):
        input_function(f"{file}:others")
    with pytest.raises(InvalidInput, match="a int called 'number'"):
        input_function(f"{file}:number")


@pytest.mark.parametrize("source", ["def inputs(:", "raise RuntimeError('no')", "import nowhere_"])
def test_a_file_that_cannot_be_executed(tmp_path: Path, source: str) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    for _ in range(2):
        with pytest.raises(InvalidInput, match="cannot be loaded"):
            input_function(f"{path}:inputs")
