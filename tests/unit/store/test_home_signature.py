"""A home knows the runs that it made, and no others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.run import RunMeta
from evenhand.core.variant import Variant
from evenhand.store.home import KEY, is_signed, signed


def meta(**settings: Any) -> RunMeta:
    """A run that was started with these settings."""
    variants = (Variant(0, "p", "m"),)
    return RunMeta("01A", "title", "", "print", 1, 1, 1, variants, 0.0, settings=settings)


def test_a_home_knows_its_own_runs(tmp_path: Path) -> None:
    """Also after it was moved as a whole; how a run ended is not signed."""
    run = signed(meta(asked={"paths": ["a"]}), tmp_path / "home")
    assert is_signed(run, [tmp_path / "home"])
    (tmp_path / "home").rename(tmp_path / "moved")
    assert is_signed(replace(run, status="finished", finished_at=1.0), [tmp_path / "moved"])
    assert (tmp_path / "moved" / KEY).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"asked": {"paths": ["b"]}}},
        {"settings": {"asked": {"paths": ["a"]}, "replay": {"file": "x"}}},
        {"settings": {}},
        {"source": "elsewhere"},
        {"id": "01B"},
        {"signature": ""},
        {"signature": "0" * 64},
    ],
)
def test_what_a_run_would_run_cannot_be_changed_unnoticed(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """Nor can its signature be left out."""
    run = signed(meta(asked={"paths": ["a"]}), tmp_path)
    assert not is_signed(replace(run, **change), [tmp_path])


def test_another_home_makes_other_signatures(tmp_path: Path) -> None:
    """A home without a key made none."""
    run = signed(meta(), tmp_path / "one")
    signed(meta(), tmp_path / "other")
    assert not is_signed(run, [tmp_path / "other", tmp_path / "none"])
    assert is_signed(run, [tmp_path / "other", tmp_path / "one"])


def test_a_home_that_can_keep_no_key_signs_nothing(tmp_path: Path) -> None:
    """A file stands where the folder would be."""
    (tmp_path / "home").write_text("")
    assert signed(meta(), tmp_path / "home").signature == ""


def test_a_damaged_key_knows_no_run(tmp_path: Path) -> None:
    """It is not replaced either: the runs that it knew would be lost."""
    run = signed(meta(), tmp_path)
    (tmp_path / KEY).write_bytes(b"half")
    assert not is_signed(run, [tmp_path])
    assert signed(meta(), tmp_path).signature == ""
    assert (tmp_path / KEY).read_bytes() == b"half"
