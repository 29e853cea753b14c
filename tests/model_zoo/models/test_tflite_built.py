"""Built TFLite files run in the interpreter and come out the same twice."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from model_zoo import Entry

pytest.importorskip("tensorflow")
interpreter = pytest.importorskip("ai_edge_litert.interpreter")


@pytest.mark.parametrize("variant", ["float32", "float16", "int8"])
def test_it_runs_and_is_deterministic(
    variant: str,
    zoo: Callable[[str], Entry],
    telling: Callable[[Iterable[Any]], None],
) -> None:
    entry = zoo(f"tflite/conv/{variant}")
    sample = entry.build()
    runtime = interpreter.Interpreter(model_content=sample.model)
    runtime.allocate_tensors()
    (entered,) = runtime.get_input_details()
    (left,) = runtime.get_output_details()
    assert [entered["name"]] == list(sample.inputs)
    assert entered["dtype"] == sample.inputs["image"].dtype

    def run(inputs: Any) -> Any:
        runtime.set_tensor(entered["index"], inputs["image"])
        runtime.invoke()
        return runtime.get_tensor(left["index"])

    first = run(sample.inputs)
    telling([first])
    again = entry.build()
    assert len(again.model) == len(sample.model)
    np.testing.assert_array_equal(again.inputs["image"], sample.inputs["image"])
    runtime = interpreter.Interpreter(model_content=again.model)
    runtime.allocate_tensors()
    np.testing.assert_array_equal(run(again.inputs), first)
