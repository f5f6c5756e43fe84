"""Skills put to the test: what is read, what is run, and what may be said of it."""

from __future__ import annotations

import json
import os
import random
import runpy
import sys
from pathlib import Path

import pytest

from evenhand.cli import main
from evenhand.core.errors import ConfigError, UsageError
from evenhand.wings.coding_agents.skills.plan import agent_command, skill_plan
from evenhand.wings.coding_agents.skills.reading import files_of, read_skill

AGENT = """
import pathlib, sys
known = list(pathlib.Path(".claude/skills").glob("*/SKILL.md"))
pathlib.Path("answer.txt").write_text("REFUND-30" if known else "perhaps")
print("done:", sys.argv[-1], sorted(path.name for path in pathlib.Path().iterdir()))
"""


def skill(folder: Path, evals: object) -> Path:
    """A skill's folder."""
    (folder / "evals").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: refunds\n---\nSay REFUND-30.\n")
    (folder / "evals/evals.json").write_text(json.dumps(evals))
    return folder


def program(path: Path, does: str) -> Path:
    """A program of one line."""
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


def test_evals_are_read_as_the_convention_has_them(tmp_path: Path):
    """Assertions or expectations; the expected output where there are neither; files below the skill."""
    evals = [
        {"id": 1, "prompt": "a", "assertions": ["is kind"], "files": ["evals/a.txt"]},
        {"id": "two", "prompt": "b", "expectations": ["is short"], "expected_output": "x"},
        {"prompt": "c", "expected_output": "a table"},
    ]
    folder = skill(tmp_path / "s", {"skill_name": "refunds", "evals": evals})
    (folder / "evals/a.txt").write_text("hello")
    (folder / "script.py").write_text("")
    read = read_skill(folder)
    assert (read.name, [one.id for one in read.evals]) == ("refunds", ["1", "two", "3"])
    assert [one.checks for one in read.evals] == [
        ("is kind",),
        ("is short",),
        ("does what is expected: a table",),
    ]
    assert [path.name for path in files_of(folder)] == ["SKILL.md", "script.py"]


def test_all_that_is_wrong_with_a_skill_is_said_at_once(tmp_path: Path):
    """With its line; files outside of the skill are refused."""
    evals = [
        {"prompt": "", "assertions": ["x"]},
        {"prompt": "a"},
        {"prompt": "b", "assertions": [5], "files": ["../../etc/passwd", "gone.txt"]},
        "x",
    ]
    folder = skill(tmp_path / "s", {"evals": evals})
    (folder / "SKILL.md").unlink()
    with pytest.raises(ConfigError) as error:
        read_skill(folder)
    text = str(error.value)
    for words in (
        "SKILL.md",
        "needs a prompt",
        "nothing is expected",
        "not a sentence",
        "below the skill's folder",
        "gone.txt does not exist",
        "is an object with a prompt",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("model", "agent"), [("", ""), ("echo", "cat"), ("", "no-such-agent"), ("", "cat '")]
)
def test_somebody_has_to_do_the_tasks(model: str, agent: str, tmp_path: Path):
    """A model or an agent, and one that there is."""
    folder = skill(tmp_path / "s", {"evals": [{"prompt": "a", "assertions": ["x"]}]})
    with pytest.raises(UsageError):
        skill_plan(
            read_skill(folder), model=model, agent=agent, judge="echo", repeats=1, env=os.environ
        )


def test_an_agent_works_with_the_skill_and_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """In folders of its own; what it writes is judged, and the effect has its interval."""
    monkeypatch.chdir(tmp_path)
    evals = [{"id": i, "prompt": f"task {i}", "assertions": ["says REFUND-30"]} for i in range(6)]
    folder = skill(tmp_path / "s", {"evals": evals})
    (tmp_path / "agent.py").write_text(AGENT)
    verdict = {"reasoning": "so", "confidence": 0.9}
    rules = [
        {"match": "perhaps", "reply": json.dumps({**verdict, "passes": False})},
        {"reply": json.dumps({**verdict, "passes": True})},
    ]
    (folder / "offline.jsonl").write_text("".join(json.dumps(rule) + "\n" for rule in rules))
    words = "skill s --judge openai:chat:gpt-5 --repeat 1 --offline --no-progress --agent"
    with pytest.raises(SystemExit) as ended:
        main([*words.split(), f"{sys.executable} {tmp_path / 'agent.py'}"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith("the skill: helps, over 6 tasks")
    assert "passed: +100 points [" in shown
    assert "score: +100 points [" in shown
    assert not (folder / ".evenhand").exists()


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        ("", "no judge is named"),
        ("openai:chat:gpt-5", "there is no API key for openai:chat:gpt-5"),
    ],
)
def test_without_a_judge_no_agent_is_started(
    judge: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """One message says what to do: all that the agent does would be paid for and never judged."""
    monkeypatch.chdir(tmp_path)
    for name in ("EVENHAND_JUDGE", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    skill(tmp_path / "s", {"evals": [{"prompt": "a", "assertions": ["x"]}]})
    agent = program(tmp_path / "agent.sh", f"touch '{tmp_path}/started'")
    with pytest.raises(SystemExit) as ended:
        main(
            ["prompt", "skill", "s", "--agent", str(agent), *(["--judge", judge] if judge else [])]
        )
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count(told) == 1
    assert "--judge" in said
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("does", "where"), [("echo done", ""), ("exit 4", "--where status:error, or ")]
)
def test_the_path_of_an_agent_starts_from_here(
    does: str,
    where: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """It works in another folder. What is shown next are the trials that there are: those in error, or none."""
    monkeypatch.chdir(tmp_path)
    folder = skill(tmp_path / "s", {"evals": [{"prompt": "a", "assertions": ["x"]}]})
    reply = json.dumps({"reasoning": "so", "confidence": 0.9, "passes": True})
    (folder / "offline.jsonl").write_text(json.dumps({"reply": reply}))
    program(tmp_path / "agent.sh", does)
    words = (
        "skill s --judge openai:chat:gpt-5 --repeat 1 --offline --no-progress --agent ./agent.sh"
    )
    with pytest.raises(SystemExit):
        main(words.split())
    (line,) = [one for one in capsys.readouterr().err.splitlines() if one.startswith("next: ")]
    assert ("--where" in line) == bool(where)
    assert where in line
    assert "evenhand view" in line


@pytest.mark.parametrize("words", ["agent.py", "-B tools/agent.py --notes=notes.txt"])
def test_the_arguments_of_an_agent_start_from_here(
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    """Files are found from the folder that the command is typed in; other words stay as they are."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "exec").mkdir()  # a folder that is called like a subcommand
    for name in ("agent.py", "tools/agent.py", "notes.txt"):
        (tmp_path / name).write_text(AGENT)
    folder = skill(tmp_path / "s", {"evals": [{"prompt": "a", "assertions": ["x"]}]})
    reply = json.dumps({"reasoning": "so", "confidence": 0.9, "passes": True})
    (folder / "offline.jsonl").write_text(json.dumps({"reply": reply}))
    asked = "skill s --judge openai:chat:gpt-5 --repeat 1 --offline --no-progress --agent"
    with pytest.raises(SystemExit) as ended:
        main([*asked.split(), f"{sys.executable} {words}"])
    assert ended.value.code == 3  # one task shows nothing
    assert "passed: 0 points" in capsys.readouterr().out
    assert agent_command("cat exec -p tools/ --n=notes.txt")[1:] == [
        "exec", "-p", f"{tmp_path}/tools", f"--n={tmp_path}/notes.txt",
    ]  # fmt: skip


def test_skills_without_effect_are_rarely_said_to_help():
    """At most 5 % of them are; `bench/skill_nulls.py` looks at a thousand."""
    seed = random.randrange(10**6)
    draws = random.Random(seed)
    path = Path(__file__).resolve().parents[4] / "bench/skill_nulls.py"
    null_skill = runpy.run_path(str(path))["null_skill"]
    # Were it 5 %, more than 8 of 40 would come once in 4,000 times; it is far less.
    assert sum(null_skill(draws) == "helps" for _ in range(40)) <= 8, f"seed {seed}"
