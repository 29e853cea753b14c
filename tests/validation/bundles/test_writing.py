from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import forge
from validation.bundles.arrays import read_arrays
from validation.bundles.manifest import Origin, read_manifest
from validation.bundles.reading import read_bundle
from validation.bundles.writing import write_bundle
from validation.case import BuiltSample
from validation.result import CheckResult, from_json
from validation.trial import Trial
from validation.vocabulary import Status

SAMPLES = 3


def test_all_parts(
    trial: Trial, row: CheckResult, tmp_path: Path, bundling: SimpleNamespace
) -> None:
    written = write_bundle(trial, row, tmp_path / "new" / "root")
    bundle = Path(written.bundle)
    assert written == row.changed(bundle=str(bundle))
    assert bundle.parent == tmp_path / "new" / "root"
    assert [path.name for path in bundle.parent.iterdir()] == [bundle.name]
    samples = {f"{kind}/{n}.npz" for kind in ("inputs", "reference", "ours") for n in range(3)}
    assert bundling.contents(bundle) == samples | {
        "bundle.json",
        "row.json",
        "environment.json",
        "README.md",
        "stderr.txt",
        "model/model.onnx",
        "ir/folded.forge",
        "ir/unfolded.forge",
    }
    manifest = read_bundle(bundle).manifest
    assert manifest.case["id"] == "onnx/a/b"
    assert manifest.options == {"opset": 13}
    assert (manifest.expected.stage, manifest.expected.reason) == (row.stage, row.reason)
    assert not manifest.made_up
    for kind, arrays in (("inputs", trial.inputs), ("ours", trial.ours)):
        for number, each in enumerate(arrays):
            records = getattr(manifest, kind)[number]
            back = read_arrays(bundle / kind / f"{number}.npz", records)
            assert bundling.same_arrays(each, back)
    assert (bundle / "stderr.txt").read_text() == "last words"
    assert from_json((bundle / "row.json").read_text()).message == row.message


def test_the_readme(trial: Trial, row: CheckResult, tmp_path: Path) -> None:
    case = replace(trial.case, id="onnx/a/b c")
    bundle = Path(write_bundle(replace(trial, case=case), row, tmp_path).bundle)
    text = (bundle / "README.md").read_text()
    assert f"forge replay {bundle.name}" in text
    assert "FAIL at compare, wrong-values" in text
    assert "pip install onnx==1" in text
    assert "--without-model" in text
    assert "--trust" not in text
    assert "http" not in text


@pytest.mark.parametrize("status", [Status.PASS, Status.SKIP])
def test_only_a_failure_leaves_one(
    status: Status, trial: Trial, row: CheckResult, tmp_path: Path
) -> None:
    other = row.changed(status=status)
    assert write_bundle(trial, other, tmp_path) is other
    assert list(tmp_path.iterdir()) == []


ARRAY = 1456  # bytes of a file that holds one of the arrays above
OURS = {f"ours/{n}.npz" for n in range(SAMPLES)}
REFERENCES = {f"reference/{n}.npz" for n in range(1, SAMPLES)}


@pytest.mark.parametrize(("missing", "left_out"), [
    (0, set()),
    (1, {"ours/2.npz"}),
    (ARRAY + 1, {"ours/1.npz", "ours/2.npz"}),
    (3 * ARRAY + 1, {*OURS, "reference/2.npz"}),
    (5 * ARRAY + 1, {*OURS, *REFERENCES, "ir/unfolded.forge"}),
    (5 * ARRAY + 1001, {*OURS, *REFERENCES, "ir/unfolded.forge", "ir/folded.forge"}),
])  # fmt: skip
def test_what_does_not_fit_is_left_out_in_order(
    missing: int,
    left_out: set[str],
    trial: Trial,
    row: CheckResult,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bundling: SimpleNamespace,
) -> None:
    trial.loaded.unfolded = object()
    monkeypatch.setattr("validation.bundles.writing._unfolded", lambda trial: bundling.FakeIR())
    whole = read_bundle(Path(write_bundle(trial, row, tmp_path).bundle)).manifest
    assert not whole.left_out
    limit = sum(file.size for file in whole.files.values()) - missing
    bundle = Path(write_bundle(trial, row, tmp_path, limit).bundle)
    manifest = read_bundle(bundle).manifest
    assert set(whole.files) - set(manifest.files) == left_out
    assert not left_out & bundling.contents(bundle)
    assert manifest.model == "stored"
    for name in manifest.left_out:
        assert name in (bundle / "README.md").read_text()


def test_a_model_that_does_not_fit_is_left_out_last(
    trial: Trial, row: CheckResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin = Origin("zoo", "onnx/a/b", "some-zoo", "1.0")
    monkeypatch.setattr("validation.bundles.writing.zoo_origin", lambda case: origin)
    trial.built.model.doc_string = "x" * 20_000
    bundle = Path(write_bundle(trial, row, tmp_path, 20_000).bundle)
    manifest = read_bundle(bundle).manifest
    assert (manifest.model, manifest.origin) == ("", origin)
    assert "model" in manifest.left_out
    assert "zoo entry `onnx/a/b`, from some-zoo 1.0" in (bundle / "README.md").read_text()


def test_inputs_are_there_all_or_not_at_all(trial: Trial, row: CheckResult, tmp_path: Path) -> None:
    bundle = Path(write_bundle(trial, row, tmp_path, 4_500).bundle)
    manifest = read_bundle(bundle).manifest
    assert manifest.inputs == ()
    assert manifest.left_out


def test_options_that_are_code_are_pickled_apart(
    trial: Trial, row: CheckResult, tmp_path: Path
) -> None:
    options = {"custom_ops": {"a::B": lambda *arguments: None}, "shape_dict": {"x": (1, "N")}}
    trial.sample = BuiltSample(trial.built.model, None, options)
    bundle = read_bundle(Path(write_bundle(trial, row, tmp_path).bundle))
    assert bundle.manifest.options == {"shape_dict": {"x": (1, "N")}}
    assert bundle.manifest.pickled_options == ("custom_ops",)
    assert bundle.manifest.made_up
    assert "--trust" in (bundle.folder / "README.md").read_text()
    assert list(bundle.options(trust=True)["custom_ops"]) == ["a::B"]
    with pytest.raises(forge.InvalidInput, match=r"custom_ops.*pickled"):
        bundle.options(trust=False)


def test_a_part_that_cannot_be_written_changes_no_verdict(
    trial: Trial, row: CheckResult, tmp_path: Path, bundling: SimpleNamespace
) -> None:
    class Unsavable(bundling.FakeIR):  # type: ignore[misc, name-defined]
        def save(self, path: Path) -> None:
            path.write_bytes(b"half")
            raise RuntimeError("TVM cannot serialise it")

    trial.ir = Unsavable()  # type: ignore[assignment]
    trial.ours[1] = {"y": np.array([object()])}
    written = write_bundle(trial, row, tmp_path)
    bundle = read_bundle(Path(written.bundle))
    assert written.changed(bundle="") == row
    assert "TVM cannot serialise it" in bundle.manifest.left_out["ir/folded.forge"]
    assert "Python objects" in bundle.manifest.left_out["ours/1.npz"]
    assert len(bundle.manifest.ours) == 1
    assert not (bundle.folder / "ir" / "folded.forge").exists()


def test_a_root_that_is_a_file(trial: Trial, row: CheckResult, tmp_path: Path) -> None:
    (tmp_path / "root").write_text("1")
    written = write_bundle(trial, row, tmp_path / "root")
    assert (written.bundle, written.reason) == ("", row.reason)
    assert "no bundle could be written" in written.notes[0]


class TestReplacing:
    def test_a_bundle_of_the_same_cell_is_replaced(
        self, trial: Trial, row: CheckResult, tmp_path: Path
    ) -> None:
        first = write_bundle(trial, row, tmp_path)
        (Path(first.bundle) / "ours" / "9.npz").write_text("older")
        second = write_bundle(trial, row.changed(message="newer"), tmp_path)
        assert second.bundle == first.bundle
        assert [path.name for path in tmp_path.iterdir()] == [Path(first.bundle).name]
        assert read_bundle(Path(second.bundle)).row().message == "newer"
        assert not (Path(second.bundle) / "ours" / "9.npz").exists()

    def test_another_target_has_another(
        self, trial: Trial, row: CheckResult, tmp_path: Path
    ) -> None:
        write_bundle(trial, row, tmp_path)
        write_bundle(trial, row.changed(target="cuda"), tmp_path)
        assert len(list(tmp_path.iterdir())) == 2

    @pytest.mark.parametrize("link", [False, True])
    def test_anything_else_in_its_place_stays(
        self, link: bool, trial: Trial, row: CheckResult, tmp_path: Path
    ) -> None:
        place = Path(write_bundle(trial, row, tmp_path / "other").bundle)
        root, target = tmp_path / "root", tmp_path / "mine"
        root.mkdir()
        if link:
            place.rename(target)
            (root / place.name).symlink_to(target)
        else:
            (root / place.name).mkdir()
            (root / place.name / "precious").write_text("1")
        written = write_bundle(trial, row, root)
        assert written.bundle == ""
        assert "no bundle" in written.notes[0]
        assert [path.name for path in root.iterdir()] == [place.name]
        assert (target if link else root / place.name / "precious").exists()


def test_a_target_of_tvm_s_is_kept_as_its_text(
    trial: Trial, row: CheckResult, tmp_path: Path
) -> None:
    from tvm.target import Target

    trial.target = Target({"kind": "llvm", "mcpu": "skylake"})
    manifest = read_manifest(Path(write_bundle(trial, row, tmp_path).bundle))
    assert json.loads(manifest.target)["mcpu"] == "skylake"
    assert str(Target(manifest.target)) == str(trial.target)
    trial.target = {"kind": "llvm", "mcpu": "skylake"}
    assert read_manifest(Path(write_bundle(trial, row, tmp_path).bundle)).target == trial.target
