from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from forge import InvalidInput
from validation.bundles.cleaning import clean, discard, remove_bundle

DAY = 86400.0


@pytest.fixture
def root(bundle: Path, tmp_path: Path) -> Path:
    """Give a folder with five bundles, 0 to 4 days old, of one size, and things that are none."""
    root = tmp_path / "root"
    root.mkdir()
    for days in range(5):
        aged(shutil.copytree(bundle, root / f"day {days}"), days)
    return root


def aged(bundle: Path, days: float) -> Path:
    when = time.time() - days * DAY
    os.utime(bundle / "bundle.json", (when, when))
    return bundle


def size_of(bundle: Path) -> int:
    return sum(path.stat().st_size for path in bundle.rglob("*") if path.is_file())


def left(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_nothing_is_removed_within_the_limits(root: Path) -> None:
    assert clean(root) == ()
    assert len(left(root)) == 5


def test_by_age(root: Path) -> None:
    removed = clean(root, max_age_days=2.5)
    assert sorted(path.name for path in removed) == ["day 3", "day 4"]
    assert left(root) == ["day 0", "day 1", "day 2"]


def test_by_total_size_the_oldest_go(root: Path) -> None:
    clean(root, max_total=int(2.5 * size_of(root / "day 0")))
    assert left(root) == ["day 0", "day 1"]


def test_the_newest_stays(root: Path) -> None:
    clean(root, max_age_days=0, max_total=0)
    assert left(root) == ["day 0"]


def test_what_no_process_finished_goes_after_hours(root: Path, bundling: SimpleNamespace) -> None:
    for name in ("day 0", "day 1"):
        bundling.edit_manifest(root / name, lambda record: record.update(complete=False))
    aged(root / "day 0", 0.1)
    aged(root / "day 1", 0.5)
    clean(root)
    assert left(root) == ["day 0", "day 2", "day 3", "day 4"]


def test_what_is_no_bundle_stays(root: Path, bundle: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("1")
    kept = aged(shutil.copytree(bundle, tmp_path / "elsewhere"), 100)
    (root / "link to a bundle").symlink_to(kept)
    (root / "a file").write_text("1")
    (root / "a folder").mkdir()
    (root / "a folder" / "bundle.json").write_text('{"format": "other", "schema": 1}')
    (root / "no json").mkdir()
    (root / "no json" / "bundle.json").write_text("{")
    (root / "linked manifest").mkdir()
    (root / "linked manifest" / "bundle.json").symlink_to(kept / "bundle.json")
    (root / "day 4" / "link").symlink_to(outside)
    (root / "day 4" / "ir" / "link").symlink_to(outside / "precious")
    clean(root, max_age_days=0, max_total=0)
    assert left(root) == [
        "a file",
        "a folder",
        "day 0",
        "link to a bundle",
        "linked manifest",
        "no json",
    ]
    assert (outside / "precious").read_text() == "1"
    assert (kept / "bundle.json").exists()


def test_a_bundle_of_a_newer_schema_is_one(root: Path, bundling: SimpleNamespace) -> None:
    bundling.edit_manifest(root / "day 4", lambda record: record.update(schema=99, case=None))
    aged(root / "day 4", 100)
    clean(root)
    assert left(root) == ["day 0", "day 1", "day 2", "day 3"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    assert clean(tmp_path / "nothing") == ()


def test_remove_refuses_what_is_none(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("1")
    with pytest.raises(InvalidInput, match="no bundle"):
        remove_bundle(tmp_path)
    assert left(tmp_path) == ["precious"]


def test_the_manifest_goes_last(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise OSError("killed")

    monkeypatch.setattr("validation.bundles.cleaning.remove", fail)
    with pytest.raises(OSError, match="killed"):
        remove_bundle(root / "day 0")
    monkeypatch.undo()
    remove_bundle(root / "day 0")
    assert "day 0" not in left(root)


def test_a_row_that_needs_no_bundle(root: Path, tools: SimpleNamespace) -> None:
    row = discard(tools.failed_row(bundle=str(root / "day 3")))
    assert row.bundle == ""
    assert "day 3" not in left(root)
    assert discard(row) == row
