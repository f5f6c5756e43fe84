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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["view", "--port", "99999"], "it is 99999, not a whole number from 0 to 65,535"),
        (["listen", "--port", "abc"], "it is 'abc', not a whole number from 0 to 65,535"),
        (["run", "--env-file", "nope.env"], "nope.env: does not exist"),
        (["import", "empty.json"], "empty.json is empty"),
    ],
)
def test_a_slip_is_refused_in_words_and_once(
    words: list[str], says: str, tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """No notation of a library's, and no file named twice."""
    (tmp_path / "empty.json").touch()
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit) as ended:
        main(words)
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert says in said
    assert said.count("nope.env") <= 1


def test_a_folder_that_was_deleted_is_no_bug_of_ours(
    tmp_path: Path, refused: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    """Another terminal, or a switch of branches, may have taken it away."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(SystemExit) as ended:
        main(["run"])
    said = refused.readouterr().err
    assert ended.value.code == 2
    assert "the current folder has been deleted" in said
    assert "Traceback" not in said


def test_a_folder_without_files_is_not_said_to_be_missing(
    tmp_path: Path, refused: pytest.CaptureFixture[str]
):
    """It was: with its own name as what was probably meant."""
    (tmp_path / "p.txt").mkdir()
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['file://p.txt']\nproviders: [echo]\ntests: [{vars: {a: b}}]\n"
    )
    with pytest.raises(SystemExit):
        main(["check"])
    said = refused.readouterr().err
    assert "p.txt is a folder without files" in said
    assert "Did you mean" not in said


def test_a_slip_in_latest_is_told(tmp_path: Path, refused: pytest.CaptureFixture[str]):
    """Beside the newest runs."""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: [a]\nproviders: [echo]\ntests: [{assert: [{type: contains, value: a}]}]\n"
    )
    with pytest.raises(SystemExit):
        main(["run"])
    with pytest.raises(SystemExit) as ended:
        main(["show", "lastest"])
    assert ended.value.code == 2
    assert "Did you mean 'latest'? The newest: " in refused.readouterr().err
