"""The example of the page on conversations runs as it says: offline, replayed to the same, and regraded."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.store.runfile import RunFile

ROOT = Path(__file__).resolve().parents[2]


def test_the_shops_conversations_are_run_replayed_and_regraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The conversations come out alike each time; a replay asks nobody, and a regrade no simulated user."""
    folder = tmp_path / "conversation"
    shutil.copytree(ROOT / "examples" / "conversation", folder)
    monkeypatch.chdir(folder)

    def call(*words: str) -> dict[str, Any]:
        with pytest.raises(SystemExit) as ended:
            main([*words, "--json", "--no-progress"])
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed
        return json.loads(printed.out)

    first = call("run", ".", "--offline")
    usage = {one["role"]: one["calls"] for one in first["usage"]}
    assert usage == {"subject": 7, "simulator": 7}
    replayed = call("run", ".", "--replay", first["run"]["id"])
    regraded = call("regrade", first["run"]["id"], "--with", ".")
    runs = []
    for one in (first["run"]["id"], replayed["run"]["id"], regraded["run"]["run"]["id"]):
        (path,) = (folder / ".evenhand" / "runs").glob(f"{one}*.db")
        with RunFile.open(path) as file:
            runs.append([(t.case, t.outcome, t.output, t.kept) for t in file.trials()])
            assert {call.end.origin for call in file.calls() if call.end} <= {"provider", "replay"}
    assert runs[0] == runs[1] == runs[2]
    assert [case for case, outcome, _, _ in runs[0] if outcome == "pass"] == [
        "late lamp",
        "unwanted rug",
    ]
    assert "Your lamp is refunded" in runs[0][0][2]
