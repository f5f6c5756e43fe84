"""`evenhand gate` where judges decide: it says that judging has changed, and says so of nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_gate import Folder, in_folder

CHANGED = "judging has changed since the baseline"


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Folder:
    """An empty one."""
    return in_folder(tmp_path, monkeypatch, capsys)


def _write(folder: Folder, cases: int, rubric: str = "names {{q}}", **options: Any) -> None:
    """A folder whose judge is asked about words of the case."""
    folder.rules = (
        {"model": "gpt-4o", "reply": {"reason": "so", "pass": True, "score": 1}},
        {"match": "Answer yes", "reply": "yes"},
    )
    judge = {"id": "openai:chat:gpt-4o", "config": options}
    folder.write(
        cases=cases,
        asserts=({"type": "llm-rubric", "value": rubric, "metric": "right", "provider": judge},),
    )


def _gate(folder: Folder) -> str:
    ended = folder.gate("--all")
    assert ended.out, ended.err
    return " ".join(ended.out.split())


def test_a_further_case_is_no_other_judge(folder: Folder):
    """Though its words stand in what the judge is asked. The judge's settings are compared all the same."""
    _write(folder, 8)
    folder.baseline()
    _write(folder, 10)
    assert CHANGED not in _gate(folder)
    _write(folder, 10, temperature=0.7)
    assert f"{CHANGED}: judge settings of gpt-4o" in _gate(folder)


def test_a_baseline_without_the_settings_apart_says_nothing_of_them(folder: Folder):
    """Those of earlier versions have them in the digest of each judge, which is compared where the cases are these."""
    _write(folder, 8)
    folder.baseline()
    path = folder.path / "b.evn"
    header, rest = path.read_text("utf-8").split("\n", 1)
    fields = json.loads(header)
    assert fields["bound"].pop("judge settings of gpt-4o")
    path.write_text(f"{json.dumps(fields)}\n{rest}", "utf-8")
    assert CHANGED not in _gate(folder)
    _write(folder, 8, temperature=0.7)
    assert f"{CHANGED}: judge of " in _gate(folder)
    _write(folder, 10)
    assert CHANGED not in _gate(folder)


def test_another_rubric_of_the_cases_is_another_judge(folder: Folder):
    """As another prompt of the judge is."""
    _write(folder, 8)
    folder.baseline()
    _write(folder, 8, rubric="says the name of {{q}}")
    assert f"{CHANGED}: judge of " in _gate(folder)
