"""Files of eval sets as they are imported."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from evenhand.doors.eval_sets.discovery import find

SET = "from evenhand import EvalSet\n\nevals = EvalSet({name!r}, data=[{{'id': 'a', 'input': 'x'}}])\n"


def test_a_file_saved_twice_within_a_second_is_read_as_it_is_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Same length, same second: Python's own cache would hold the first."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "shop_evals.py"
    titles: list[str] = []
    for name in ("warm", "cold"):
        file.write_text(SET.format(name=name), "utf-8")
        os.utime(file, (1_700_000_000, 1_700_000_000))
        (evals,) = find([str(file)]).sets
        titles.append(evals.name)
        for module in [key for key in sys.modules if key.startswith("evenhand_evals_")]:
            monkeypatch.delitem(sys.modules, module)
    assert titles == ["warm", "cold"]
