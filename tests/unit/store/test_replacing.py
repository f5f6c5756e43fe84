"""A small file is written whole or not at all."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import pytest

from evenhand.core.errors import UsageError
from evenhand.store.replacing import replace_file


def test_a_file_that_does_not_fit_leaves_the_earlier_one_and_nothing_else(tmp_path: Path):
    """The process's files may grow to 1,000 bytes only."""
    file = tmp_path / "b.evn"
    replace_file(b"first", file, lambda _: True, "baseline")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UsageError, match="cannot be written"):
            replace_file(b"x" * 5000, file, lambda _: True, "baseline")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert [path.name for path in tmp_path.iterdir()] == ["b.evn"]
    assert file.read_bytes() == b"first"
