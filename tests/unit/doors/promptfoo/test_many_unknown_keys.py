"""A config with many unknown keys is read, and told of, in linear time."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.doors.promptfoo import config as reading
from evenhand.doors.promptfoo.load import load
from evenhand.languages.documents.findings import SHOWN


def test_no_neighbour_is_looked_for_once_some_dozens_of_keys_are_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of them is still named."""
    looks: list[str] = []

    def nearest(word: str, *_: object) -> str:
        looks.append(word)
        return ""

    monkeypatch.setattr(reading, "nearest", nearest)
    keys = "".join(f"key{i}: 1\n" for i in range(500))
    file = tmp_path / "promptfooconfig.yaml"
    file.write_text(f"prompts: [a]\nproviders: [echo]\n{keys}")
    plan = load(file)
    assert len(looks) == SHOWN
    assert sum("is not used" in str(hint) for hint in plan.hints) == 500
