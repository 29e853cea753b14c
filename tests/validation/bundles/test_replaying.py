"""What a replay says where the verdict, the reference or the environment is another."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from forge import InvalidInput
from validation.bundles.layout import REFERENCE
from validation.bundles.parts import path_record
from validation.bundles.reading import read_bundle
from validation.bundles.replaying import Replay, replay
from validation.vocabulary import Stage, Status

pytestmark = pytest.mark.usefixtures("direct_pool")

X = np.array([[1, -2, 3], [-4, 5, -6]], np.float32)


def same(found: Replay) -> bool:
    return found.outcome == "same verdict" and found.row.status is Status.FAIL


class TestOtherVerdicts:
    def test_it_passes_now(self, bundle: Path, bundling: SimpleNamespace) -> None:
        bundling.edit_manifest(bundle, lambda record: record["case"].update(atol=10.0))
        found = replay(bundle)
        assert found.outcome == "passes now"
        assert found.row
        assert "status was FAIL, now it is PASS" in found.changes

    def test_it_fails_for_another_reason(self, bundle: Path, bundling: SimpleNamespace) -> None:
        bundling.edit_manifest(bundle, lambda record: record["expected"].update(blame="fold"))
        found = replay(bundle)
        assert found.outcome == "another verdict"
        assert found.changes == (f"blame was fold, now it is {found.row.blame.value}",)

    def test_it_cannot_be_run_here(
        self, bundle: Path, bundling: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            "forge.compile.executable.Executable.device_exists", property(lambda _: False)
        )
        found = replay(bundle)
        assert (found.outcome, found.row.status) == ("not run", Status.SKIP)

    def test_another_target(self, bundle: Path) -> None:
        found = replay(bundle, target="nonsense")
        assert found.outcome == "another verdict"
        assert found.row.stage is Stage.COMPILE
        assert found.row.target == "nonsense"


class TestReference:
    def test_one_that_gives_other_values_now_is_noted(
        self, tmp_path: Path, tools: Any, bundling: SimpleNamespace, monkeypatch: Any
    ) -> None:
        from validation.references.onnx import ONNXFramework

        genuine = ONNXFramework.load
        monkeypatch.setattr(
            ONNXFramework, "load", lambda self, model, options: 1 / 0 and genuine(self, model, {})
        )
        case = tools.make_case("onnx/a/b", tools.build_of(tools.onnx_model(), {"x": X}))
        bundle = Path(bundling.write(case, tmp_path).bundle)
        assert replay(bundle).row.notes == ()
        self.change_reference(bundle, bundling)
        (note,) = replay(bundle).row.notes
        assert "reference gives other values than when the bundle was made" in note
        assert "0.5" in note

    def change_reference(self, bundle: Path, bundling: SimpleNamespace) -> None:
        from validation.bundles.arrays import write_arrays

        file = bundle / REFERENCE / "0.npz"
        (arrays,) = read_bundle(bundle).samples(REFERENCE)
        file.unlink()
        write_arrays(file, {name: array + 0.5 for name, array in arrays.items()})
        record = vars(path_record(file))
        bundling.edit_manifest(bundle, lambda m: m["files"].update({"reference/0.npz": record}))


class TestRefusals:
    def test_a_framework_that_is_missing(
        self, bundle: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from forge import MissingFramework

        missing = lambda framework: ("no_such_module",)  # noqa: E731
        monkeypatch.setattr("validation.bundles.replaying.missing_modules", missing)
        with pytest.raises(MissingFramework, match="no_such_module"):
            replay(bundle)
        assert same(replay(bundle, without_model=True))

    def test_an_unknown_framework(self, bundle: Path, bundling: SimpleNamespace) -> None:
        bundling.edit_manifest(bundle, lambda record: record["case"].update(framework="mxnet"))
        with pytest.raises(InvalidInput, match="mxnet"):
            replay(bundle)

    def test_given_outputs_that_are_missing(self, bundle: Path, bundling: SimpleNamespace) -> None:
        left_out = {"reference/0.npz": "too large"}
        bundling.edit_manifest(bundle, lambda record: record.update(left_out=left_out))
        with pytest.raises(InvalidInput, match=r"lacks outputs .* too large"):
            replay(bundle)

    def test_inputs_that_are_missing(self, bundle: Path, bundling: SimpleNamespace) -> None:
        bundling.edit_manifest(
            bundle, lambda record: record.update(inputs=[], left_out={"inputs/0.npz": "too large"})
        )
        with pytest.raises(InvalidInput, match="holds no inputs: too large"):
            replay(bundle)

    def test_options_that_are_code(self, bundle: Path, bundling: SimpleNamespace) -> None:
        bundling.edit_manifest(bundle, lambda record: record.update(pickled_options=["custom_ops"]))
        with pytest.raises(InvalidInput, match=r"holds no options\.pkl"):
            replay(bundle)

    def test_a_model_that_is_none(self, bundle: Path, bundling: SimpleNamespace) -> None:
        (bundle / "model" / "model.onnx").write_bytes(b"nonsense")
        record = vars(path_record(bundle / "model" / "model.onnx"))
        bundling.edit_manifest(bundle, lambda m: m["files"].update({"model/model.onnx": record}))
        with pytest.raises(InvalidInput, match="cannot be opened here"):
            replay(bundle)
