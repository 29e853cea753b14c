from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import forge
from forge import InvalidInput
from validation.bundles.reading import read_bundle
from validation.bundles.replaying import replay
from validation.bundles.stored_ir import StoredIR, case_without_model
from validation.vocabulary import Reason, Stage

pytestmark = pytest.mark.usefixtures("direct_pool")


def forget(bundle: Path, bundling: SimpleNamespace, part: str) -> None:
    """Have a bundle that never had a part."""

    def change(manifest: dict[str, dict[str, object]]) -> None:
        files = manifest["files"]
        for name in [name for name in files if name == part or name.startswith(f"{part}/")]:
            del files[name]

    bundling.edit_manifest(bundle, change)
    path = bundle / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def test_the_same_verdict_without_the_model(bundle: Path, bundling: SimpleNamespace) -> None:
    forget(bundle, bundling, "model")
    found = replay(bundle, without_model=True)
    assert found.outcome == "same verdict"
    assert (found.row.stage, found.row.reason) == (Stage.COMPARE, Reason.WRONG_VALUES)
    assert found.row.id == "onnx/a/b"


def test_an_ir_that_is_right_passes(tools: SimpleNamespace, bundling: SimpleNamespace,
                                    tmp_path: Path) -> None:  # fmt: skip
    def build() -> object:
        return tools.build_of(tools.onnx_model(), {"x": bundling.X})()

    case = bundling.expecting_too_much("onnx", build)
    bundle = Path(bundling.write(case, tmp_path).bundle)
    right = {"y": np.maximum(bundling.X, 0)}
    (bundle / "reference" / "0.npz").unlink()
    from validation.bundles.arrays import write_arrays
    from validation.bundles.parts import path_record

    write_arrays(bundle / "reference" / "0.npz", right)
    file = path_record(bundle / "reference" / "0.npz")
    bundling.edit_manifest(
        bundle, lambda record: record["files"].update({"reference/0.npz": vars(file)})
    )
    found = replay(bundle, without_model=True)
    assert found.outcome == "passes now"
    assert found.row


@pytest.mark.parametrize("part", ["ir/folded.forge", "inputs", "reference"])
def test_what_is_needed(part: str, bundle: Path, bundling: SimpleNamespace) -> None:
    forget(bundle, bundling, part)
    bundling.edit_manifest(bundle, lambda record: record.update({part: []}))
    with pytest.raises(InvalidInput, match=f"holds no {part}"):
        replay(bundle, without_model=True)


def test_samples_without_a_reference_are_not_run(bundle: Path, bundling: SimpleNamespace) -> None:
    source = read_bundle(bundle)
    (bundle / "inputs" / "1.npz").write_bytes((bundle / "inputs" / "0.npz").read_bytes())

    def change(record: dict[str, object]) -> None:
        record["files"]["inputs/1.npz"] = record["files"]["inputs/0.npz"]  # type: ignore[index]
        record["inputs"] *= 2  # type: ignore[operator]

    bundling.edit_manifest(bundle, change)
    bundle_of_two = read_bundle(bundle)
    assert len(bundle_of_two.manifest.inputs) == 2 * len(source.manifest.inputs)
    case = case_without_model(bundle_of_two)
    assert len(case.build().extra_inputs) == 0
    assert replay(bundle, without_model=True).outcome == "same verdict"


def test_it_stands_in_for_a_framework(bundle: Path, bundling: SimpleNamespace) -> None:
    framework = StoredIR(read_bundle(bundle))
    loaded = framework.load(None, {"fold": True})
    assert loaded.unfolded is not None
    assert [spec.name for spec in framework.inputs(None, {})] == ["x"]
    assert isinstance(framework.load(None, {"fold": False}), forge.IRModule)
    with pytest.raises(InvalidInput, match="without its model"):
        framework.load(None, {"prepare": False})
    for call in (
        lambda: framework.session(None, {}, 1),
        lambda: framework.open(bundle, trust=True),
        lambda: framework.store(None, bundle, {}),
        lambda: framework.restore(bundle),
    ):
        with pytest.raises(InvalidInput, match="without its model"):
            call()
    assert not framework.recognises(None)
    forget(bundle, bundling, "ir/unfolded.forge")
    framework = StoredIR(read_bundle(bundle))
    assert framework.load(None, {"fold": True}).unfolded is None
    with pytest.raises(InvalidInput, match="unfolded"):
        framework.load(None, {"fold": False})


def test_an_ir_that_is_damaged(bundle: Path, bundling: SimpleNamespace) -> None:
    from validation.bundles.parts import path_record

    (bundle / "ir" / "folded.forge").write_bytes(b"PK nonsense")
    file = path_record(bundle / "ir" / "folded.forge")
    bundling.edit_manifest(
        bundle, lambda record: record["files"].update({"ir/folded.forge": vars(file)})
    )
    found = replay(bundle, without_model=True)
    assert found.outcome == "another verdict"
    assert found.row.reason is Reason.INVALID_INPUT
