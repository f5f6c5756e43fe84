"""Tests stay in memory where they are few, and are read again where their files changed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from evenhand.core.plan import Plan
from evenhand.doors.promptfoo import reader
from evenhand.doors.promptfoo.load import load


def test_tests_are_the_same_whether_they_are_kept_or_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ids, variables and digests of what is expected are."""
    kept = described(written(tmp_path, 5))
    monkeypatch.setattr(reader, "MOST_KEPT", 4)
    assert described(load(tmp_path)) == kept
    monkeypatch.setattr(reader, "MOST_KEPT", 5)
    monkeypatch.setattr(reader, "MOST_TEXT", 10)
    assert described(load(tmp_path)) == kept


def written(folder: Path, count: int) -> Plan:
    """The plan of a config with a file of so many tests."""
    lines = (json.dumps({"vars": {"q": f"question {i}"}}) for i in range(count))
    (folder / "t.jsonl").write_text("\n".join(lines))
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": "t.jsonl"}
    (folder / "promptfooconfig.json").write_text(
        json.dumps({**config, "defaultTest": {"assert": [{"type": "contains", "value": "q"}]}})
    )
    return load(folder)


def described(plan: Plan) -> list[object]:
    """What a plan's trials are."""
    return [
        (planned.case, planned.variant, planned.checks() if planned.checks else "", planned.test)
        for planned in plan.trials()
    ]


def test_a_file_that_was_written_is_read_again(tmp_path: Path) -> None:
    """A kept test does not outlive what it was read from."""
    plan = written(tmp_path, 3)
    assert [planned.case.vars["q"] for planned in plan.trials()] == [
        "question 0",
        "question 1",
        "question 2",
    ]
    path = tmp_path / "t.jsonl"
    path.write_text(path.read_text().replace("question 1", "a new one!"))
    os.utime(path, ns=(1, 1))
    assert [planned.case.vars["q"] for planned in plan.trials()] == [
        "question 0",
        "a new one!",
        "question 2",
    ]
