"""The command line as a program: what it imports, what it prints when things go wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from validation import cli
from validation.cli import main

FORGE = [sys.executable, "-m", "forge"]
SCRIPT = Path(sys.executable).with_name("forge")
HEAVY = ("tvm", "torch", "onnx", "onnxruntime", "tensorflow", "keras", "rich", "jinja2")

# A zoo of a user's, whose import also makes the servers light; its dist-info makes it installed.
ZOO = """
from types import SimpleNamespace
import validation.matrix
from functools import partial
from validation.isolation import WorkerPool

validation.matrix.WorkerPool = partial(WorkerPool, modules=lambda framework: {light})

def good():
    import numpy as np
    from validation.case import BuiltSample
    from validation.references.onnx import ONNXFramework
    from validation import judging
    judging.accumulations = lambda module: 1
    loaded = SimpleNamespace(
        history=(), compile=lambda target: SimpleNamespace(run=dict, device_exists=True),
        module=None,
    )
    ONNXFramework.session = lambda *arguments: dict
    ONNXFramework.load = lambda *arguments: loaded
    return BuiltSample(None, {{"x": np.arange(3.0)}})

def hang():
    import time
    time.sleep(1000)

def skip():
    error = RuntimeError()
    error.skip_reason = "no network"
    raise error

def entry(name, build):
    return SimpleNamespace(id=f"onnx/user/{{name}}", framework="onnx", description="d", rtol=None,
        suites=frozenset({{"users"}}), build=build, atol=None, time_limit=None)

def entries():
    return [entry("a", good), entry("b", good), entry("hang", hang), entry("skip", skip),
        entry("fixed", good), entry("crash", lambda: __import__("os")._exit(4))]
"""
EXPECTATIONS = """
schema = 1
[[failure]]
case = "onnx/user/fixed"
stage = "load"
reason = "frontend-error"
why = "it was broken"
link = "https://example.org/1"
"""


@pytest.fixture
def user_zoo(tmp_path: Path, tools: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a zoo for subprocesses."""
    site = tmp_path / "site"
    info = site / "user_zoo-1.0.dist-info"
    package = site / "user_zoo"
    for folder in (info, package):
        folder.mkdir(parents=True)
    (package / "__init__.py").write_text(ZOO.format(light=tools.LIGHT_SERVER))
    (package / "expectations.toml").write_text(EXPECTATIONS)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: user-zoo\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[forge.zoo]\nuser = user_zoo:entries\n")
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    monkeypatch.setenv("PYTHONPATH", path)
    return site


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*FORGE, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd, check=False
    )


class TestWithoutACommand:
    def test_help_imports_nothing_heavy(self) -> None:
        code = (
            "import sys; from forge.__main__ import main; sys.argv = ['forge', '--help']\n"
            "try: main()\n"
            f"finally: print([n for n in {HEAVY!r} if n in sys.modules], file=sys.stderr)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
        assert "exit codes: 0 all passed" in " ".join(done.stdout.split())
        assert done.stderr.strip() == "[]"

    def test_the_parser_needs_neither_numpy_nor_forge(self) -> None:
        code = (
            "import sys; from validation.cli import build_parser; build_parser()\n"
            "print([name for name in ('numpy', 'forge') if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
        )
        assert done.stdout.strip() == "[]", done.stderr

    @pytest.mark.parametrize("command", [c.__name__.rpartition(".")[2] for c in cli._COMMANDS])
    def test_every_command_has_help(self, command: str, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            main([command, "--help"])
        assert caught.value.code == 0
        assert f"usage: forge {command}" in capsys.readouterr().out

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--version"]) == 0
        assert capsys.readouterr().out.startswith("forge 0.")

    def test_nothing_at_all_is_bad_usage(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([]) == 2
        assert "usage" in capsys.readouterr().err

    @pytest.mark.parametrize("arguments", [
        ["nonsense"], ["check"], ["check", "a.onnx", "--nonsense"], ["matrix", "--jobs", "0"],
        ["matrix", "--jobs", "many"], ["matrix", "--framework", "caffe"],
        ["zoo", "--framework", "caffe"], ["check", "a.onnx", "--rtol", "nan"],
        ["check", "a.onnx", "--atol", "-1"], ["check", "a.onnx", "--atol", "inf"],
        ["check", "a.onnx", "--rtol", "x"], ["check", "a.onnx", "--seed", "-1"],
        ["check", "a.onnx", "--threads", "0"], ["check", "a.onnx", "--input", "x"],
        ["report"], ["compile", "a.onnx"],
    ])  # fmt: skip
    def test_bad_usage(self, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        assert caught.value.code == 2
        assert "usage: forge" in capsys.readouterr().err


class TestErrors:
    @pytest.mark.parametrize(("error", "code", "text"), [
        (RuntimeError("boom"), 3, "internal error: RuntimeError: boom"),
        (OSError(28, "No space left"), 3, "No space left"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ])  # fmt: skip
    def test_what_goes_wrong_is_one_message(
        self,
        error: BaseException,
        code: int,
        text: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def fail(arguments: object) -> int:
            raise error

        monkeypatch.setattr(cli.zoo, "run", fail)
        assert main(["zoo"]) == code
        captured = capsys.readouterr()
        assert text in captured.err
        assert "Traceback" not in captured.err

    def test_debug_shows_the_traceback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(arguments: object) -> int:
            raise ValueError("boom")

        monkeypatch.setattr(cli.zoo, "run", fail)
        with pytest.raises(ValueError, match="boom"):
            main(["--debug", "zoo"])


class TestPipes:
    @pytest.mark.parametrize("reader", ["head -n 1", "true"])
    @pytest.mark.parametrize("part", ["", "--framework keras"])
    def test_a_reader_that_goes_away(self, reader: str, part: str) -> None:
        # A short list stays in the buffer until the program ends.
        command = (
            f"unset PYTHONUNBUFFERED; set -o pipefail; {' '.join(FORGE)} zoo {part} | {reader}"
        )
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.stderr == ""
        assert done.returncode == 0

    def test_a_verdict_that_nobody_reads_is_not_lost(
        self, tools: SimpleNamespace, tmp_path: Path
    ) -> None:
        failed = [tools.failed_row(id=f"onnx/a/{i}").to_json() for i in range(500)]
        (tmp_path / "rows.jsonl").write_text("\n".join(failed))
        command = f"set -o pipefail; {' '.join(FORGE)} report rows.jsonl --json | true"
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.stderr == ""
        assert done.returncode in (1, 3)


class TestNamesOfTheUsersOwn:
    @pytest.fixture
    def repository(self, tmp_path: Path, onnx_file: Path) -> Path:
        """Make a repository whose folders are named as ours are."""
        for name in ("validation", "model_zoo"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the user`s own')")
        return tmp_path

    @pytest.mark.parametrize("program", [FORGE, [str(SCRIPT)]])
    def test_the_zoo(self, repository: Path, program: list[str]) -> None:
        if not Path(program[0]).exists():
            pytest.skip("the console script is not installed here")
        done = subprocess.run(
            [*program, "zoo"],
            capture_output=True, text=True, timeout=60, cwd=repository, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) >= 20

    def test_a_check(self, repository: Path) -> None:
        done = run("check", "relu.onnx", "--no-latency", cwd=repository)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("PASS")


class TestMatrixOfAUsersZoo:
    @pytest.mark.parametrize(("names", "code"), [
        (["a", "b"], 0), (["a", "crash"], 1), (["skip"], 3), (["a", "skip"], 0), (["fixed"], 1),
    ])  # fmt: skip
    def test_exit_codes(self, user_zoo: Path, names: list[str], code: int) -> None:
        done = run("matrix", *(f"onnx/user/{name}" for name in names), "--no-latency")
        assert done.returncode == code, done.stdout + done.stderr
        assert f"of {len(names)} cells" in done.stdout.splitlines()[-1]

    def test_an_interrupt_keeps_what_has_finished(
        self, user_zoo: Path, tmp_path: Path, nothing_left: Path
    ) -> None:
        stem = tmp_path / "out" / "run-1.0"
        program = subprocess.Popen(
            [*FORGE, "matrix", "onnx/user/*", "--no-latency", "--report", str(stem)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # A shell's background job would ignore the signal.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        rows = stem.with_name("run-1.0.jsonl")
        deadline = time.monotonic() + 60
        # Six are planned. In the order of ids: a, b, crash and fixed finish, then hang hangs.
        while not rows.exists() or rows.read_text().count("\n") < 6 + 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate(timeout=60)
        assert program.returncode == 130
        assert errors.splitlines()[-1] == "interrupted"
        assert "Traceback" not in errors
        assert len(rows.read_text().splitlines()) == 6 + 4
        report = run("report", str(rows))
        assert report.returncode == 1
        assert "unfinished 2" in report.stdout
        assert "the run ended before this cell was finished" in report.stdout
