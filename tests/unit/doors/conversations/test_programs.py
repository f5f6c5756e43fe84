"""Programs as the agent of a conversation: one folder for all turns, and their own session where they keep one."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from evenhand import CommandAgent, Conversation, EvalSet, Expect
from evenhand.core.errors import InfrastructureError
from evenhand.core.run import TrialResult
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.providers.command_agents.folder import Left, put_back
from evenhand.store.recordings import Recordings, RunSource
from evenhand.store.runfile import RunFile

COUNTS = "cat > said.json; echo x >> turns.txt; pwd > where.txt; wc -l < turns.txt"
KNOWN = """#!{python}
import json, sys
from pathlib import Path
turns = Path("turns.txt")
turns.write_text((turns.read_text() if turns.exists() else "") + "x")
args, said = sys.argv[1:], sys.stdin.read()
number = len(turns.read_text())
answer = json.dumps([number, said, args[args.index({option!r}) + 1] if {option!r} in args else ""])
for event in json.loads({events!r}.replace("ANSWER", json.dumps(answer)[1:-1]).replace("NUMBER", str(number))):
    print(json.dumps(event))
"""
EVENTS: dict[str, list[dict[str, Any]]] = {
    "claude": [
        {"type": "system", "subtype": "init", "session_id": "of turn NUMBER"},
        {
            "type": "result",
            "subtype": "success",
            "result": "ANSWER",
            "session_id": "of turn NUMBER",
        },
    ],
    "codex": [
        {"type": "thread.started", "thread_id": "of turn NUMBER"},
        {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "ANSWER"}},
        {"type": "turn.completed", "usage": {}},
    ],
}


def counting(folder: Path, text: str = COUNTS, **settings: Any) -> CommandAgent:
    """A program that says how many turns it has seen in its folder."""
    (folder / "agent.sh").write_text(text)
    return CommandAgent("sh agent.sh", base=folder, sandbox="none", **settings)


def known(folder: Path, name: str, more: str = "") -> CommandAgent:
    """A stand-in for Claude Code or Codex: answers with the turn, what it was given, and the session it resumes."""
    option = "--resume" if name == "claude" else "resume"
    events = json.dumps(EVENTS[name])
    program = folder / name
    program.write_text(KNOWN.format(python=sys.executable, option=option, events=events))
    program.chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": str(folder)}
    return CommandAgent(f"{name} {more}".strip(), base=folder, sandbox="none", env=env)


def talked(
    agent: CommandAgent, lines: Sequence[str], home: Path, replay: Path | None = None
) -> tuple[list[str], TrialResult, Path]:
    """A conversation in an eval: the answers, the trial, and the run's file."""
    evals = EvalSet("talks", data=[{"id": "one"}])
    answers: list[str] = []

    @evals.eval
    async def talks(expect: Expect) -> None:
        talk = await Conversation(agent, list(lines)).run()
        answers.extend(str(m.content) for m in talk.messages if m.role == "assistant")
        expect(talk.ended == "user", "it came to its end")

    async def settled() -> Path:
        if replay is None:
            return (await door.settle(plan_of([evals], env={}), Settings(home=home))).path
        with closing(Recordings(RunSource(replay))) as recordings:
            settings = Settings(home=home, replay=recordings, replay_asks=True)
            return (await door.settle(plan_of([evals], env={}), settings)).path

    path = asyncio.run(settled())
    with RunFile.open(path) as run:
        (trial,) = run.trials()
    return answers, trial, path


def test_a_program_works_in_one_folder_through_a_conversation_and_only_in_that(tmp_path: Path):
    """It is given all that was said at each turn; the next conversation has another folder."""
    agent = counting(tmp_path)
    answers, trial, _ = talked(agent, ["a", "b", "c"], tmp_path / "home")
    assert answers == ["1", "2", "3"]
    files = trial.answer.metadata["files"]
    assert [m["content"] for m in json.loads(files["said.json"])] == ["a", "1", "b", "2", "c"]
    assert files["turns.txt"] == "x\nx\nx\n"
    assert not Path(files["where.txt"].strip()).exists()
    assert talked(agent, ["d"], tmp_path / "home")[0] == ["1"]


@pytest.mark.parametrize(("name", "more"), [("claude", ""), ("codex", "exec -s read-only")])
def test_claude_and_codex_go_on_with_their_session(tmp_path: Path, name: str, more: str):
    """They are given what the user said last, in words."""
    answers, _, _ = talked(known(tmp_path, name, more), ["a", "b", "c"], tmp_path / "home")
    assert [json.loads(one) for one in answers] == [
        [1, "a", ""],
        [2, "b", "of turn 1"],
        [3, "c", "of turn 2"],
    ]


@pytest.mark.parametrize(
    ("name", "more"), [("claude", "--no-session-persistence"), ("codex", "exec --ephemeral")]
)
def test_one_that_keeps_no_sessions_is_given_all_that_was_said(
    tmp_path: Path, name: str, more: str
):
    """As any other program."""
    answers, _, _ = talked(known(tmp_path, name, more), ["a", "b"], tmp_path / "home")
    number, said, session = json.loads(answers[1])
    assert (number, session) == (2, "")
    assert [m["role"] for m in json.loads(said)] == ["user", "assistant", "user"]


def test_after_a_recorded_turn_the_folder_is_as_it_was_left(tmp_path: Path):
    """The program is told the whole conversation: its session is not that of the folder."""
    agent = known(tmp_path, "claude")
    first, _, path = talked(agent, ["a", "b"], tmp_path / "home")
    again, trial, _ = talked(agent, ["a", "c", "d"], tmp_path / "home", path)
    assert again[0] == first[0]
    number, said, session = json.loads(again[1])
    assert (number, session) == (2, "")
    assert [m["content"] for m in json.loads(said)] == ["a", first[0], "c"]
    assert json.loads(again[2]) == [3, "d", "of turn 2"]
    assert trial.answer.metadata["files"] == {"turns.txt": "xxx"}


def test_a_recorded_turn_whose_files_are_not_all_kept_cannot_be_gone_on_from(tmp_path: Path):
    """It would be another folder: that is an error, and no failure of the agent's."""
    agent = counting(tmp_path, "cat > said.json; printf 'a\\0b' > raw.bin; echo done")
    assert talked(agent, ["a", "b"], tmp_path / "home")[0] == ["done", "done"]
    _, _, path = talked(agent, ["a"], tmp_path / "home")
    _, trial, _ = talked(agent, ["a", "c"], tmp_path / "home", path)
    assert trial.error is not None
    assert (trial.outcome, trial.error.slug) == ("error", "infrastructure")
    assert "raw.bin" in trial.error.message


def test_what_is_put_back_stays_in_the_folder(tmp_path: Path):
    """Whatever a run's file says, and wherever the template's links lead."""
    own, outside = tmp_path / "own", tmp_path / "outside"
    own.mkdir()
    outside.mkdir()
    (own / "link").symlink_to(outside)
    (own / "file").symlink_to(outside / "file")
    (own / "gone.txt").write_text("x")
    put_back(own, Left({"a/b.txt": "deep", "file": "mine"}, ["gone.txt"]))
    assert (own / "a" / "b.txt").read_text() == "deep"
    assert (own / "file").read_text() == "mine"
    assert not (own / "gone.txt").exists()
    for name in ("../x", "/etc/x", "link/x", "a/../../x"):
        with pytest.raises(InfrastructureError, match="outside"):
            put_back(own, Left({name: "x"}))
        with pytest.raises(InfrastructureError, match="outside"):
            put_back(own, Left(deleted=[name]))
    assert [*outside.iterdir()] == []
