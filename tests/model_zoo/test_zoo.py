"""Forge's own zoo: what it covers, and that listing it imports no framework."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import pytest

import model_zoo
from model_zoo import Entry
from model_zoo.entry import FRAMEWORKS

ENTRIES = model_zoo.entries()
SMOKE = [entry for entry in ENTRIES if "smoke" in entry.suites]


def test_listing_imports_no_framework() -> None:
    code = (
        "import sys, model_zoo; print(len(model_zoo.entries())); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'onnx', 'torch', 'tensorflow', 'keras', 'tflite', 'tvm', 'forge', 'validation'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(ENTRIES)), "[]"]


def test_listing_twice_gives_the_same_entries() -> None:
    assert model_zoo.entries() == ENTRIES
    assert [entry.id for entry in ENTRIES] == sorted({entry.id for entry in ENTRIES})


def test_the_smoke_suite_covers_every_framework_with_enough_trained_models() -> None:
    counts = Counter(entry.framework for entry in SMOKE)
    assert set(counts) == set(FRAMEWORKS)
    assert min(counts.values()) >= 4
    assert len(SMOKE) >= 24
    assert sum(entry.source is not None for entry in SMOKE) >= 8


def test_every_smoke_entry_is_in_the_full_suite() -> None:
    assert [entry.id for entry in SMOKE if "full" not in entry.suites] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_an_entry_is_described_and_says_whether_it_is_trained(entry: Entry) -> None:
    assert entry.description
    assert "\n" not in entry.description
    assert ("trained" in entry.tags) == (entry.source is not None)
    assert ("built" in entry.tags) == (entry.source is None)


def test_wheels_are_pinned_once() -> None:
    pins: dict[str, set[tuple[str, str]]] = {}
    for entry in ENTRIES:
        if entry.source is not None:
            pin = (entry.source.version, entry.source.sha256)
            pins.setdefault(entry.source.package, set()).add(pin)
    assert {package: len(found) for package, found in pins.items() if len(found) > 1} == {}
