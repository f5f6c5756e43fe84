"""`evenhand runs history` on a folder with runs: in words, and as JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of evals whose replies are scripted."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    write(tmp_path, "Answer yes. {{q}}")
    rules = [{"match": "Answer no", "reply": "no"}, {"reply": "yes"}]
    (tmp_path / "offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    return tmp_path


def write(folder: Path, prompt: str) -> None:
    """Writes its config."""
    test = {"vars": {"q": ["a", "b", "c"]}, "assert": [{"type": "contains", "value": "yes"}]}
    config: dict[str, Any] = {
        "description": "yes or no",
        "prompts": [{"label": "plain", "raw": prompt}],
        "providers": ["openai:chat:gpt-5-mini"],
        "tests": [test],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))


def run(*words: str) -> int:
    """A command line; how it exits."""
    try:
        main(list(words))
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def test_a_folder_shows_its_runs_and_where_the_prompt_changed(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Of the folder, of its config, and of another folder."""
    monkeypatch.setenv("COLUMNS", "140")
    assert run("run", "--offline", "--no-progress") == 0
    write(folder, "Answer no. {{q}}")
    assert run("run", "--offline", "--no-progress") == 1
    capsys.readouterr()
    assert run("runs", "history") == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0] == "yes or no  promptfooconfig.json"
    assert "100 %" in text[2]
    assert text[3] == "┄ prompt: plain edited"
    assert " 0 % " in text[4]
    assert text[4].count("scripted") == 1
    assert run("runs", "history", "promptfooconfig.json", "--last", "1", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    (line,) = document["lines"]
    assert (line["earlier"], len(line["runs"])) == (1, 1)
    assert line["runs"][0]["columns"][0]["rate"] == 0
    (folder / "other").mkdir()
    assert run("runs", "history", "other") == 0
    assert capsys.readouterr().out == "there are no runs of other\n"


def test_a_folder_that_is_not_there_is_said_so(folder: Path, capsys: pytest.CaptureFixture[str]):
    """And one without runs."""
    assert run("runs", "history", "nowhere") == 2
    assert "there is no such file or folder" in capsys.readouterr().err
    assert run("runs", "history") == 0
    assert capsys.readouterr().out == "there are no runs yet: `evenhand run` makes one\n"


def test_sets_of_one_folder_are_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Neither in the history nor in a baseline of several runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evals").mkdir()
    for name in ("few", "many"):
        (tmp_path / f"evals/{name}_evals.py").write_text(
            f"from evenhand import EvalSet\n\nevals = EvalSet({name!r})\n\n\n@evals.eval\n"
            "def holds(expect):\n    expect(True, 'holds')\n"
        )
    for name in ("few", "many", "few"):
        assert run("run", f"evals/{name}_evals.py", "--no-progress") == 0
    capsys.readouterr()
    assert run("runs", "history", "--json") == 0
    found = json.loads(capsys.readouterr().out)["lines"]
    assert [(line["title"], len(line["runs"])) for line in found] == [("few", 2), ("many", 1)]
    assert not any(one["changes"] for line in found for one in line["runs"])
    assert run("baseline", "--of", "2", "--to", "b.evn") == 0
    assert "2 runs that are taken for one system" in capsys.readouterr().err
