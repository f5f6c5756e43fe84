"""`evenhand new`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from evenhand.cli.new import class_name, new, write
from evenhand.cli.verbs import evenhand
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile


@pytest.fixture
def evenhand_offers() -> set[str]:
    """What a shell offers after `evenhand new `."""
    completing = ShellComplete(evenhand, {}, "evenhand", "_EVENHAND_COMPLETE")
    return {item.value for item in completing.get_completions(["new"], "")}


async def test_a_new_eval_set_runs_and_passes(tmp_path: Path):
    """Two cases, four expectations each, all met, without a key."""
    path = write("eval", "shop/refund-policy", tmp_path)
    assert path == tmp_path / "evals/shop/refund_policy_evals.py"
    found = find([str(tmp_path)])
    assert [evals.name for evals in found.sets] == ["refund policy"]
    plan = plan_of(found.sets, env={})
    finished = await door.settle(plan, Settings(home=tmp_path / "home", cache=False))
    with RunFile.open(finished.path) as run:
        trials = list(run.trials())
    assert [(t.outcome, len(t.outcomes)) for t in trials] == [("pass", 4), ("pass", 4)]


def test_a_new_prompt_can_be_looked_at(tmp_path: Path):
    """It is a program that prints the prompt for one message."""
    path = write("prompt-function", "reply", tmp_path)
    done = subprocess.run(
        [sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=30
    )
    assert "Message: What if these shoes don't fit?" in done.stdout


@pytest.mark.parametrize("kind", ["eval", "judge", "prompt-function"])
def test_each_says_where_it_is_and_leaves_no_word_to_fill_in(tmp_path: Path, kind: str):
    """The file names itself, and compiles."""
    path = write(kind, "tone of voice", tmp_path)
    text = path.read_text("utf-8")
    assert path.relative_to(tmp_path).as_posix() in text
    assert "@T" not in text
    assert "@N" not in text
    compile(text, path, "exec")


@pytest.mark.parametrize("kind", ["eval", "judge", "prompt-function"])
def test_the_command_says_what_it_wrote_and_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    """The path, and the next command or import."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(new, [kind, "tone"], standalone_mode=False)
    (path,) = (p for p in tmp_path.rglob("*") if p.is_file())
    assert str(path.relative_to(tmp_path)) in done.output
    assert "next" in done.output


def test_the_former_name_of_new_prompt_function_still_works_and_names_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """`new prompt` writes the same file, and the new name goes to stderr."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(new, ["prompt", "tone"], standalone_mode=False)
    assert done.return_value == 0
    assert "`evenhand new prompt` is now `evenhand new prompt-function`" in done.stderr
    assert "next: python prompts/tone.py" in done.stdout
    former = (tmp_path / "prompts/tone.py").read_text("utf-8")
    (tmp_path / "prompts/tone.py").unlink()
    CliRunner().invoke(new, ["prompt-function", "tone"], standalone_mode=False)
    assert (tmp_path / "prompts/tone.py").read_text("utf-8") == former


def test_neither_help_nor_completion_offers_the_former_name(evenhand_offers: set[str]):
    """`new prompt` and `prompt new` stood beside each other, and made two different things."""
    assert evenhand_offers == {"eval", "judge", "prompt-function"}
    _, _, commands = CliRunner().invoke(new, ["--help"]).output.partition("Commands:")
    assert re.findall(r"^  (\S+)  ", commands, re.MULTILINE) == sorted(evenhand_offers)


def test_nothing_is_overwritten(tmp_path: Path):
    """What is there stays as it is, and another name is offered."""
    (tmp_path / "prompts").mkdir()
    there = tmp_path / "prompts" / "tone.py"
    there.write_text("mine")
    with pytest.raises(UsageError, match="already exists") as caught:
        write("prompt-function", "tone", tmp_path)
    assert "tone_2" in caught.value.hint
    assert there.read_text() == "mine"


@pytest.mark.parametrize("name", ["", "../out", "/etc/x", "a//b", "1st", "class", "a.b", "x/"])
def test_what_python_cannot_import_is_no_name(tmp_path: Path, name: str):
    """Nothing is written, above all not outside of the folder."""
    with pytest.raises(UsageError, match="cannot be the name"):
        write("eval", name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["message", "evenhand", "shop/graded", "x" * 300])
def test_names_that_would_break_the_file_are_refused(tmp_path: Path, name: str):
    """A class `Message` would stand before the one that the judge needs; a name can be too long for the disk."""
    with pytest.raises(UsageError):
        write("judge", name, tmp_path)


@pytest.mark.parametrize(
    ("stands", "told"),
    [
        (".", "evals/tone_evals.py"),
        ("evals", "tone_evals.py"),
        ("evals/shop", "../tone_evals.py"),
        ("prompts", "../evals/tone_evals.py"),
    ],
)
def test_it_is_written_into_the_project_that_one_stands_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stands: str, told: str
):
    """From its folders, too; what to type next works from there."""
    (tmp_path / stands).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path / stands)
    done = CliRunner().invoke(new, ["eval", "tone"], standalone_mode=False)
    assert (tmp_path / "evals/tone_evals.py").is_file()
    assert f"next: evenhand run {told}\n" in done.output


def test_where_nothing_can_be_written_that_is_said(tmp_path: Path):
    """A file stands where the folder should be."""
    (tmp_path / "evals").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write("eval", "tone", tmp_path)


def test_endings_that_are_typed_anyway_are_not_doubled(tmp_path: Path):
    """`new eval evals/tone_evals.py` is `new eval tone`."""
    assert write("eval", "evals/tone_evals.py", tmp_path) == tmp_path / "evals/tone_evals.py"
    assert class_name("tone_of_voice") == "ToneOfVoice"
