from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from validation.bundles.case_fields import (
    case_of_fields,
    fields_of_case,
    options_of,
    plain_target,
    split_options,
)
from validation.bundles.plain import from_plain, to_plain
from validation.bundles.sources import ModelFile
from validation.case import BuiltSample, Case
from validation.inputs.plan import InputPlan
from validation.references import framework_named
from validation.trial import Trial


def build() -> Any: ...


CASE = Case(
    "onnx/a/b",
    "onnx",
    build,
    rtol=0,
    atol=1e-3,
    time_limit=np.float32(3),  # type: ignore[arg-type]
    memory_limit=1 << 40,
    threads=2,
    latency=False,
    fold=("constants",),
    judges={"y": "ulp:4"},
    reference_outputs=({},),
    plan=InputPlan(2, 7, {"x": (-1, 1)}),
)


def test_a_case_comes_back() -> None:
    fields = json.loads(json.dumps(to_plain(fields_of_case(CASE))))
    assert fields["given"] is True
    back = case_of_fields(from_plain(fields), build=build, reference_outputs=({},))
    assert back == CASE


def test_fields_can_be_replaced() -> None:
    assert case_of_fields(fields_of_case(CASE), build=build, latency=True).latency


def test_options_of_a_cell_that_has_no_sample() -> None:
    framework = framework_named("onnx")
    trial = Trial(CASE, "llvm", framework)
    assert options_of(trial) == {}
    file = ModelFile("onnx", Path("x.onnx"), options={"opset": 13})
    trial.case = Case("onnx/a/b", "onnx", file)
    assert options_of(trial) == {"opset": 13}
    trial.sample = BuiltSample(None, None, {"opset": 17})
    assert options_of(trial) == {"opset": 17}


def test_options_are_parted() -> None:
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    options = {"shape_dict": {"x": (1, "N")}, "custom_ops": {"a::B": build}, "odd": cyclic}
    plain, others = split_options(options)
    assert list(plain) == ["shape_dict"]
    assert list(others) == ["custom_ops", "odd"]


def test_targets() -> None:
    assert plain_target("llvm") == "llvm"
    assert plain_target({"kind": "llvm", "keys": ["cpu"]}) == {"kind": "llvm", "keys": ["cpu"]}
    assert plain_target(Path("x")) == "x"
