"""The promises of a store, over the run file."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.store.journal import Journal
from evenhand.testing import check_store


async def test_the_run_file_keeps_the_promises_of_a_store(tmp_path: Path):
    """Through a close and a reopening, in a folder whose name needs quoting."""
    folder = tmp_path / "a folder?with#odd%20 letters é"
    folder.mkdir()
    await check_store(folder)


async def test_a_broken_promise_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A store that forgets what is in doubt is found out."""
    monkeypatch.setattr(Journal, "in_doubt", lambda self: [])
    with pytest.raises(AssertionError, match="broken promise: a call without an end is in doubt"):
        await check_store(tmp_path)
