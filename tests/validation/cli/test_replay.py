"""``forge replay``: exit codes, what it prints, and the command in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forge as forge_package
from validation.bundles.running import Bundling
from validation.case import BuiltSample, Case
from validation.cli import main
from validation.isolation import WorkerPool
from validation.vocabulary import Reason, Stage

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)
Forge = Callable[..., tuple[int, str]]


@pytest.fixture
def forge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, small_pool: WorkerPool
) -> Forge:
    """Run a command with a real worker; give its exit code and all that it printed."""
    monkeypatch.setattr(
        "validation.bundles.replaying.WorkerPool", lambda **named: nullcontext(small_pool)
    )

    def forge(*arguments: object) -> tuple[int, str]:
        code = main(["replay", *map(str, arguments)])
        captured = capsys.readouterr()
        text = captured.out + captured.err
        assert "Traceback" not in text
        assert "internal error" not in text
        return code, text

    return forge


def custom_build(kind: str) -> BuiltSample:
    """Make a model with an operator whose converter is a Relu, or ends the process."""
    from onnx import TensorProto, helper

    def convert(builder: Any, inputs: Any, attributes: Any) -> Any:
        from tvm import relax

        if kind == "deadly":
            import signal

            os.kill(os.getpid(), signal.SIGKILL)
        return builder.emit(relax.op.nn.relu(inputs[0]))

    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, (2, 3)) for n in "xy")
    node = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "gelu", [x], [y])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return BuiltSample(model, {"x": X}, {"custom_ops": {"com.microsoft::Gelu": convert}})


def leave_bundle(pool: WorkerPool, kind: str, folder: Path) -> Path:
    """Check such a model, and move the bundle that it leaves elsewhere."""
    import cloudpickle

    # By value: the worker cannot import a test.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        case = Case(f"onnx/custom/{kind}", "onnx", partial(custom_build, kind), latency=False)
        row = pool.submit(case, "llvm", Bundling(folder / "made")).result()
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    return Path(shutil.move(row.bundle, folder / "moved"))


@pytest.fixture
def wrong(small_pool: WorkerPool, tmp_path: Path) -> Path:
    return leave_bundle(small_pool, "wrong", tmp_path)


def test_the_same_verdict(forge: Forge, wrong: Path) -> None:
    code, text = forge(wrong, "--trust")
    assert code == 1
    assert text.startswith("same verdict; recorded: FAIL at compare, wrong-values, blame loader")
    assert "environment:" not in text


def test_json(forge: Forge, wrong: Path) -> None:
    code, text = forge(wrong, "--trust", "--json")
    record = json.loads(text)
    assert code == 1
    assert record["outcome"] == "same verdict"
    assert record["changes"] == record["environment"] == []
    assert record["expected"] == {
        "status": "FAIL",
        "stage": "compare",
        "reason": "wrong-values",
        "blame": "loader",
    }
    assert record["row"]["id"] == "onnx/custom/wrong"


def test_without_trust(forge: Forge, wrong: Path) -> None:
    code, text = forge(wrong)
    assert code == 2
    assert "custom_ops" in text
    assert "--trust" in text
    code, text = forge(wrong, "--without-model")
    assert code == 1
    assert text.startswith("same verdict")


def test_a_worker_that_dies_again(forge: Forge, small_pool: WorkerPool, tmp_path: Path) -> None:
    bundle = leave_bundle(small_pool, "deadly", tmp_path)
    code, text = forge(bundle, "--trust", "--json")
    record = json.loads(text)
    assert (code, record["outcome"]) == (1, "same verdict")
    assert record["expected"]["stage"] == Stage.LOAD.value
    assert record["expected"]["reason"] == Reason.CRASH.value
    assert record["row"]["signal"] == "SIGKILL"
    code, text = forge(bundle, "--without-model")
    assert code == 2
    assert "holds no ir/folded.forge" in text


def edit(bundle: Path, change: Callable[[dict[str, Any]], object]) -> None:
    record = json.loads((bundle / "bundle.json").read_text())
    change(record)
    (bundle / "bundle.json").write_text(json.dumps(record))


def test_it_passes_now(forge: Forge, wrong: Path) -> None:
    edit(wrong, lambda record: record["case"].update(atol=10.0, latency=True))
    code, text = forge(wrong, "--trust", "--no-latency")
    assert code == 0
    assert text.startswith("passes now; recorded: FAIL")
    assert "  status was FAIL, now it is PASS" in text
    assert "latency" not in text


def test_it_fails_otherwise(forge: Forge, wrong: Path) -> None:
    code, text = forge(wrong, "--trust", "--target", "nonsense")
    assert code == 1
    assert text.startswith("another verdict")
    assert "  stage was compare, now it is compile" in text


def test_other_versions(forge: Forge, wrong: Path) -> None:
    import hashlib

    path = wrong / "environment.json"
    environment = json.loads(path.read_text())
    environment["versions"]["onnx"] = "0.1"
    path.write_text(json.dumps(environment))
    content = path.read_bytes()
    record = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    edit(wrong, lambda manifest: manifest["files"].update({"environment.json": record}))
    _, text = forge(wrong, "--trust")
    assert "environment: onnx was 0.1, here it is " in text


@pytest.mark.parametrize("damage", ["nothing", "file", "empty", "cut"])
def test_a_bad_bundle(forge: Forge, damage: str, wrong: Path, tmp_path: Path) -> None:
    path = {"nothing": tmp_path / "none", "file": wrong / "row.json"}.get(damage, wrong)
    if damage == "empty":
        path = tmp_path / "empty"
        path.mkdir()
    if damage == "cut":
        content = (wrong / "model" / "model.onnx").read_bytes()
        (wrong / "model" / "model.onnx").write_bytes(content[:-1])
    code, text = forge(path, "--trust")
    assert code == 2
    assert text.startswith("forge: ")


def test_in_a_process_of_its_own(wrong: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "forge", "replay", wrong.name, "--trust"],
        cwd=wrong.parent,
        env={**os.environ, "PYTHONPATH": str(Path(forge_package.__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("same verdict")
    assert done.stderr == ""


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", "--help"])
    assert ended.value.code == 0
    assert "exit codes: 0 it passes now, 1 it still fails" in capsys.readouterr().out
