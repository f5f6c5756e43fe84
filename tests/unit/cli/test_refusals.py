"""Words on the command line that are taken for something else than was meant: what is said instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.cli import main


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> pytest.CaptureFixture[str]:
    """What a command says, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return capsys


@pytest.mark.parametrize("word", ["mlfow", "team"])
def test_a_word_that_is_no_folder_is_no_remote(
    word: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """It may be a slip: no folder is made of it."""
    with pytest.raises(SystemExit) as ended:
        main(["push", "--to", word])
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert f"{word} is no remote" in said
    assert f"./{word} for a new folder" in said
    assert ("Did you mean 'mlflow'?" in said) == (word == "mlfow")
    assert not (tmp_path / word).exists()


@pytest.mark.parametrize(("name", "tool"), [("raw.jsonl", "TOOL"), ("x.eval", "inspect")])
def test_a_file_of_another_tool_is_refused_with_the_tools(
    name: str, tool: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """Where nobody said which tool wrote it; an ending that says it is believed."""
    (tmp_path / name).write_text("{}", "utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["import", name])
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert f"evenhand import {tool} {name}" in said
    assert "langfuse" in said
    assert "promptfoo export" not in said
