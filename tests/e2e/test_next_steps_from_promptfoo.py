"""What somebody who comes from promptfoo types first, and what the command says to it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evenhand.testing import FakeProvider, Rule, Script


def typed(*words: str) -> tuple[int, str]:
    """The exit code of a command, and all that it printed."""
    command = [sys.executable, "-c", "from evenhand.cli import main; main()", *words]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def folder_of(path: Path, fake: FakeProvider, **config: object) -> None:
    """A config that asks the fake vendor once."""
    model = {"id": "openai:chat:m", "config": {"apiBaseUrl": f"{fake.url}/v1", "apiKey": "k"}}
    whole = {
        "prompts": ["Say {{x}}"],
        "providers": [model],
        "tests": [{"vars": {"x": 1}}],
        **config,
    }
    (path / "promptfooconfig.json").write_text(json.dumps(whole))


@pytest.mark.parametrize("where", ["option", "config"])
def test_a_file_of_an_unknown_ending_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Nothing is sent, no run is kept, and the endings that there are are named."""
    monkeypatch.chdir(tmp_path)
    with FakeProvider(Script([Rule((), "hi")])) as fake:
        folder_of(tmp_path, fake, **({"outputPath": "r.xlsx"} if where == "config" else {}))
        code, said = typed("run", *(["-o", "r.xlsx"] if where == "option" else []))
        assert fake.requests == []
    assert code == 2
    assert "r.xlsx: the ending '.xlsx' names no format" in said
    assert ".json, .jsonl" in said
    assert not (tmp_path / ".evenhand").exists()


@pytest.mark.parametrize(
    ("name", "ours"), [("eval", "run"), ("validate", "check"), ("list", "runs list")]
)
def test_a_command_of_promptfoos_is_told_what_it_is_called_here(name: str, ours: str) -> None:
    """It is no near miss of any of ours."""
    code, said = typed(name)
    assert code == 2
    assert f"'{name}' is evenhand {ours}" in said


def test_an_import_says_that_it_is_not_the_newest_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`show` and `export` without an id take the newest, whose date is that of the recording."""
    monkeypatch.chdir(tmp_path)
    with FakeProvider(Script([Rule((), "hi")])) as fake:
        folder_of(tmp_path, fake)
        assert typed("run", "-o", "now.json")[0] == 0
    recorded = json.loads((tmp_path / "now.json").read_text())
    recorded["evalId"] = "eval-abc-2025-01-01"
    recorded["results"]["timestamp"] = "2025-01-01T00:00:00.000Z"
    (tmp_path / "old.json").write_text(json.dumps(recorded))
    code, said = typed("import", "old.json")
    assert code == 0
    assert "There are newer runs" in said
    short = said.rpartition("evenhand show ")[2].split()[0]
    assert "2025" in typed("runs", "list")[1]
    assert typed("show", short)[0] == 0
