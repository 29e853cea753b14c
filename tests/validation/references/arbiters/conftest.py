"""What the tests of the arbiters share."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from validation.references import framework_named
from validation.references.arbiters import arbiters_of
from validation.references.protocol import Arrays


@pytest.fixture(scope="session")
def wrong_references() -> ModuleType:
    """Give the module of that name: under importlib mode it cannot be imported by name."""
    path = Path(__file__).with_name("wrong_references.py")
    spec = importlib.util.spec_from_file_location("wrong_references", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def run_all(
    framework: str,
    model: Any,
    options: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray],
) -> dict[str, Arrays]:
    """Run every arbiter on copies of inputs, and check that it leaves them as they were."""
    results = {}
    for arbiter in arbiters_of(framework, model, options, 1):
        given = {name: array.copy() for name, array in inputs.items()}
        results[arbiter.name] = arbiter.start()(given)
        for name, array in inputs.items():
            np.testing.assert_array_equal(given[name], array)
    return results


def assert_agrees(
    framework: str,
    model: Any,
    options: Mapping[str, Any],
    inputs: Mapping[str, np.ndarray],
    rtol: float = 2e-5,
) -> dict[str, Arrays]:
    """Check that every arbiter gives what the reference gives, under its names and in its order.

    ``rtol`` is relative to the largest element: float32 errors of a few sums in another order.
    """
    reference = framework_named(framework).session(model, options, 1)(inputs)
    float64 = {a.name: a.float64 for a in arbiters_of(framework, model, options, 1)}
    results = run_all(framework, model, options, inputs)
    for arbiter, result in results.items():
        assert list(result) == list(reference), arbiter
        for name, expected in reference.items():
            array = result[name]
            assert array.shape == expected.shape, (arbiter, name)
            wide = float64[arbiter] and expected.dtype.kind == "f"
            assert array.dtype == (np.float64 if wide else expected.dtype), (arbiter, name)
            if expected.dtype.kind == "f":
                atol = rtol * float(np.abs(expected).max())
                np.testing.assert_allclose(array, expected, rtol=0, atol=atol, err_msg=arbiter)
            else:
                np.testing.assert_array_equal(array, expected)
    return results


@pytest.fixture(scope="session")
def agree() -> Callable[..., dict[str, Arrays]]:
    return assert_agrees


def assert_float64(array: np.ndarray, expected: np.ndarray) -> None:
    """Check that an array was computed in float64, to 1e-12 of its largest element."""
    assert array.dtype == expected.dtype == np.float64
    atol = 1e-12 * float(np.abs(expected).max())
    np.testing.assert_allclose(array, expected, rtol=0, atol=atol)
    assert not np.array_equal(array.astype(np.float32).astype(np.float64), array)


@pytest.fixture(scope="session")
def is_float64() -> Callable[[np.ndarray, np.ndarray], None]:
    return assert_float64
