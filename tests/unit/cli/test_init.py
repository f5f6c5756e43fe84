"""`evenhand init`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest

from evenhand.cli.setup import SKILLS, scaffold
from evenhand.cli.verbs import evenhand
from evenhand.core.errors import UsageError
from evenhand.doors.eval_sets.discovery import find
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.testing import Script


def test_a_new_folder_is_a_config_that_loads(tmp_path: Path):
    """What is written is a config without problems: two prompts, one model, six tests."""
    scaffold(tmp_path / "new" / "folder")
    plan = load(tmp_path / "new" / "folder", Chosen(env={"OPENAI_API_KEY": "k"}))
    assert (len(plan.variants), plan.size) == (2, 12)
    assert list(plan.hints) == []


def test_it_says_what_it_wrote(tmp_path: Path):
    """The paths that come back are the files that are there."""
    written = scaffold(tmp_path)
    assert sorted(written) == sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert tmp_path / "promptfooconfig.yaml" in written


def test_the_scripted_replies_can_be_read(tmp_path: Path):
    """`offline.jsonl` is a script: a rule for each prompt and test."""
    scaffold(tmp_path)
    assert len(Script.read(tmp_path / "offline.jsonl").rules) == 12
    for line in (tmp_path / "offline.jsonl").read_text("utf-8").splitlines():
        assert set(json.loads(line)) == {"match", "reply"}


@pytest.mark.parametrize("name", ["promptfooconfig.yaml", "tests.csv", "prompts/plain.md"])
def test_nothing_is_overwritten(tmp_path: Path, name: str):
    """One file that already exists is named, keeps its content, and nothing else is written."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine", "utf-8")
    with pytest.raises(UsageError, match=name):
        scaffold(tmp_path)
    assert path.read_text("utf-8") == "mine"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [path]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    """A file where the folder should be ends in words, not in a traceback."""
    (tmp_path / "file").write_text("", "utf-8")
    with pytest.raises(UsageError, match="cannot be written"):
        scaffold(tmp_path / "file" / "folder")


def test_a_new_folder_of_eval_sets_is_a_plan_without_problems(tmp_path: Path):
    """An application, a set over a dataset, a judge, a fixture that reads a file: four trials."""
    written = scaffold(tmp_path / "shop", "python")
    assert sorted(written) == sorted(p for p in (tmp_path / "shop").rglob("*") if p.is_file())
    found = find([str(tmp_path / "shop")])
    assert found.problems == []
    assert plan_of(found.sets, env={"OPENAI_API_KEY": "k"}).size == 4


def test_two_kinds_of_folder_do_not_mix(tmp_path: Path):
    """Both have replies of their own: the second is refused whole."""
    scaffold(tmp_path)
    with pytest.raises(UsageError, match=r"offline\.jsonl already exists"):
        scaffold(tmp_path, "python")
    assert not (tmp_path / "evals").exists()


def test_a_skill_for_coding_agents_names_commands_and_options_that_are_there(tmp_path: Path):
    """The same text in both places; each command in it is one of ours, with options that it has."""
    paths = scaffold(tmp_path, "agent")
    first, second = (path.read_text("utf-8") for path in paths)
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == list(SKILLS)
    assert first == second
    assert first.startswith("---\nname: evenhand\ndescription: ")
    lines = re.findall(r"`evenhand ([a-z]+)([^`]*)`", first)
    assert len(lines) > 6
    for name, words in lines:
        command = evenhand.get_command(click.Context(evenhand), name)
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words.split() if word.startswith("--")} <= known, name
    with pytest.raises(UsageError, match="already exist"):
        scaffold(tmp_path, "agent")
