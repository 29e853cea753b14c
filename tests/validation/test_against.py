"""Two ways to one model: torch itself, and its export to ONNX."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from validation.against import Agreement, check_against
from validation.case import BuiltSample, Case
from validation.report.agreement import agreement_record, print_agreement
from validation.vocabulary import Reason, Stage

pytest.importorskip("torch")
pytest.importorskip("onnxruntime")


def network(seed: int = 0) -> Any:
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)).eval()


def exported(seed: int, name: str) -> bytes:
    import torch

    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network(seed), (torch.zeros(2, 4),), file, dynamo=False,
            input_names=[name], output_names=["result"],
        )  # fmt: skip
    return file.getvalue()


def torch_case() -> Case:
    def build() -> BuiltSample:
        return BuiltSample(network(), None, {"input_info": [("x", (2, 4))]})

    return Case("torch/a/b", "torch", build, latency=False, time_limit=120)


def onnx_case(content: bytes) -> Case:
    def build() -> BuiltSample:
        import onnx

        return BuiltSample(onnx.load_from_string(content))

    return Case("onnx/a/b", "onnx", build, latency=False, time_limit=120)


@pytest.fixture(autouse=True)
def one_pool(small_pool: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class Shared:
        def __init__(self, **named: Any) -> None: ...

        def __enter__(self) -> Any:
            return small_pool

        def __exit__(self, *arguments: Any) -> None: ...

    monkeypatch.setattr("validation.against.WorkerPool", Shared)


def against(content: bytes) -> tuple[Agreement, list[Mapping[str, np.ndarray]]]:
    asked: list[Mapping[str, np.ndarray]] = []

    def other(inputs: Mapping[str, np.ndarray]) -> Case:
        asked.append(inputs)
        return onnx_case(content)

    return check_against(torch_case(), other, "llvm"), asked


def test_two_ways_agree_though_names_differ(capsys: pytest.CaptureFixture[str]) -> None:
    agreement, asked = against(exported(0, "pixels"))
    assert agreement, (agreement.row, agreement.other, agreement.native, agreement.compiled)
    assert list(asked[0]) == ["x"]
    assert len(agreement.native) == len(agreement.compiled) == 3  # three samples are made up
    assert [c.sample for c in agreement.compiled] == [0, 1, 2]
    print_agreement(agreement)
    text = capsys.readouterr().out
    assert "\nAGREE\n  native against native: same" in text
    record = agreement_record(agreement)
    assert (record["agree"], len(record["rows"])) == (True, 2)


def test_another_model_passes_its_own_check_and_disagrees(
    capsys: pytest.CaptureFixture[str],
) -> None:
    agreement, _ = against(exported(1, "x"))
    assert agreement.row
    assert agreement.other
    assert not agreement
    assert not any(agreement.native)
    assert not any(agreement.compiled)
    print_agreement(agreement)
    assert "\nDISAGREE\n  native against native: DIFFERENT" in capsys.readouterr().out


def test_a_first_model_that_fails_early(capsys: pytest.CaptureFixture[str]) -> None:
    def build() -> BuiltSample:
        raise ValueError("no model")

    case = Case("torch/a/b", "torch", build, latency=False)
    agreement = check_against(case, lambda inputs: onnx_case(b""), "llvm")
    assert not agreement
    assert agreement.row.stage is Stage.BUILD
    assert agreement.other is None
    print_agreement(agreement)
    assert "The other model was not run" in capsys.readouterr().out
    assert len(agreement_record(agreement)["rows"]) == 1


def test_another_number_of_inputs() -> None:
    import onnx

    model = onnx.load_from_string(exported(0, "x"))
    model.graph.input.add().CopyFrom(
        onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    )
    agreement, _ = against(model.SerializeToString())
    assert agreement.other is not None
    assert agreement.other.reason is Reason.INVALID_INPUT
    assert "takes 2 inputs (x, y), this one 1 (x)" in agreement.other.message
