"""Entries with published weights, on a machine that cannot have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import model_zoo
from model_zoo import Entry, Source
from model_zoo import fetch as fetching

ENTRIES = [entry for entry in model_zoo.entries() if entry.source]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.id)
def test_without_network_it_says_which_file_is_missing(
    entry: Entry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(entry.framework)

    def refuse(source: Source, *_: Any) -> Path:
        raise fetching.SourceUnavailable(f"{source}: no network")

    monkeypatch.setenv("FORGE_CACHE", str(tmp_path))
    monkeypatch.setattr(fetching, "_download", refuse)
    with pytest.raises(fetching.SourceUnavailable) as caught:
        entry.build()
    assert caught.value.skip_reason == f"{entry.source}: no network"
