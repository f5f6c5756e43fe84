"""Agents that are programs: run in a folder of their own, read step by step, and never blamed for what they run on."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import InfrastructureError, UsageError
from evenhand.core.message import Prompt, Reply
from evenhand.core.step import Step
from evenhand.core.timeline import StepNote, steps_from
from evenhand.providers.catalog import create
from evenhand.providers.command_agents.agent import CommandAgent
from evenhand.providers.command_agents.reading import read_transcript
from evenhand.providers.command_agents.running import sandbox_here
from evenhand.providers.journaled import journaled_reply

SESSION = {"session_id": "s", "uuid": "u"}
CLAUDE: list[Mapping[str, Any]] = [
    {"type": "system", "subtype": "init", "model": "claude-sonnet-4-5", "tools": [], **SESSION},
    {
        "type": "assistant",
        "message": {
            "id": "m1",
            "model": "claude-sonnet-4-5",
            "content": [{"type": "text", "text": "Let me look."}],
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
        "parent_tool_use_id": None,
        **SESSION,
    },
    {
        "type": "assistant",
        "message": {
            "id": "m1",
            "content": [{"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "x"}}],
        },
        **SESSION,
    },
    {
        "type": "assistant",
        "message": {
            "id": "m2",
            "content": [
                {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}}
            ],
        },
        "parent_tool_use_id": "t1",
        **SESSION,
    },
    {
        "type": "user",
        "message": {
            "content": [
                {"type": "tool_result", "tool_use_id": "t2", "content": "denied", "is_error": True}
            ]
        },
        "parent_tool_use_id": "t1",
        **SESSION,
    },
    {
        "type": "user",
        "message": {
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "content": [{"type": "text", "text": "done"}],
                }
            ]
        },
        **SESSION,
    },
    {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "All good.",
        "total_cost_usd": 0.02,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 90, "output_tokens": 7},
        **SESSION,
    },
]
CODEX: list[Mapping[str, Any]] = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "turn.started"},
    {
        "type": "item.started",
        "item": {
            "id": "i1",
            "type": "command_execution",
            "command": "false",
            "status": "in_progress",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "i1",
            "type": "command_execution",
            "command": "false",
            "aggregated_output": "",
            "exit_code": 1,
            "status": "failed",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "i2",
            "type": "mcp_tool_call",
            "server": "shop",
            "tool": "refund",
            "arguments": {"order": "7"},
            "result": {"content": [], "structured_content": {"ok": True}},
            "status": "completed",
        },
    },
    {"type": "item.completed", "item": {"id": "i3", "type": "todo_list", "items": []}},
    {"type": "item.completed", "item": {"id": "i4", "type": "agent_message", "text": "Refunded."}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 9},
    },
]


def lines(events: list[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """A second between each."""
    return [(float(at), json.dumps(event)) for at, event in enumerate(events)]


def test_what_claude_code_prints_is_steps():
    """A message in several events is one step; what a subagent does is within the call that started it."""
    form, told = read_transcript(lines(CLAUDE))
    assert (form, told.output, told.cost_usd, told.failed) == ("claude", "All good.", 0.02, "")
    assert (told.usage.tokens_in, told.usage.tokens_out, told.usage.tokens_cached) == (100, 7, 90)
    assert [(s.kind, s.name, s.status, s.parent) for s in told.steps] == [
        ("model", "claude-sonnet-4-5", "ok", None),
        ("tool", "Task", "ok", None),
        ("model", "claude-sonnet-4-5", "ok", 1),
        ("tool", "Bash", "error", 1),
    ]
    assert [(s.tokens_in, s.tokens_out) for s in told.steps[:3]] == [
        (3, 1),
        (None, None),
        (None, None),
    ]
    task, bash = told.steps[1], told.steps[3]
    assert (task.arguments, task.result, task.started_s, task.duration_s) == (
        {"prompt": "x"},
        "done",
        2.0,
        3.0,
    )
    assert bash.error == "denied"


def test_what_codex_prints_is_steps():
    """A list of things to do is none."""
    form, told = read_transcript(lines(CODEX))
    assert (form, told.output, told.failed) == ("codex", "Refunded.", "")
    assert (told.usage.tokens_in, told.usage.tokens_out) == (100, 9)
    assert [(s.kind, s.name, s.status, s.duration_s) for s in told.steps] == [
        ("tool", "shell", "error", 1.0),
        ("tool", "refund", "ok", 0.0),
        ("message", "assistant", "ok", 0.0),
    ]
    assert told.steps[1].arguments == {"order": "7"}
    assert told.steps[1].result == {"ok": True}


@pytest.mark.parametrize(
    ("events", "failed", "ended"),
    [
        (CLAUDE[:-1], "without a result", ""),
        ([*CLAUDE[:-1], {**CLAUDE[-1], "is_error": True, "result": "Invalid API key"}], "API key", ""),
        ([*CLAUDE[:-1], {"type": "result", "subtype": "error_max_turns", **SESSION}], "", "error_max_turns"),
        (CODEX[:-1], "ended before", ""),
        ([*CODEX[:-1], {"type": "turn.failed", "error": {"message": "quota"}}], "quota", ""),
        ([*CODEX[:2], {"type": "error", "message": "reconnecting"}, *CODEX[2:]], "", ""),
    ],
)  # fmt: skip
def test_what_a_run_failed_of(events: list[Mapping[str, Any]], failed: str, ended: str):
    """A stream that was cut off is nobody's answer; turns that are used up are the agent's own end."""
    _, told = read_transcript(lines(events))
    assert (bool(told.failed), told.ended) == (bool(failed), ended)
    assert failed in told.failed


@pytest.mark.parametrize(
    "hostile",
    [
        '{"type": "assistant", "message": null, "session_id": "s"}',
        '{"type": "assistant", "message": {"content": [1, {"type": "tool_use"}]}, "session_id": 1}',
        '{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": []}]}}',
        '{"type": "result", "usage": [], "total_cost_usd": "free", "session_id": "s"}',
        '{"type": "item.completed", "item": [1]}',
        '{"type": "turn.completed", "usage": {"input_tokens": -5}}',
        '{"kind": "tool", "name": "x", "parent": 5, "status": 7, "duration_s": "long"}',
        "[" * 5000,
        "{" * 5000,
    ],
)
def test_hostile_lines_are_read_as_far_as_they_can_be(hostile: str):
    """Nothing that a program prints is an error of ours."""
    for form in ("auto", "claude", "codex", "steps", "text"):
        read_transcript([(0.0, hostile), (1.0, "{half")], form)


def asked(agent: CommandAgent, text: str = "Go.") -> Reply:
    """What a program answers; what was recorded of it must read the same without the provider."""
    request = agent.request(Prompt.of(text))
    answer = asyncio.run(agent.send(request, None))  # pyright: ignore[reportArgumentType] (it asks the host for nothing)
    reply = agent.reply(answer.body)
    assert journaled_reply(request.identity, answer.body) == reply
    return reply


def script(folder: Path, text: str) -> str:
    """A program of the user's, and the command that runs it."""
    (folder / "agent.sh").write_text(text)
    return "sh agent.sh"


STEP = '{"kind": "tool", "name": "refund", "arguments": {"id": 7}}'


@pytest.mark.parametrize(
    ("printed", "output", "names"),
    [
        ([STEP, '{"output": "done"}'], "done", ["refund"]),
        (["Loading…", STEP, "warning: slow", '{"output": "done"}', "Bye"], "done", ["refund"]),
        ([STEP, "All is done.", "", "Bye"], "All is done.\n\nBye", ["refund"]),
        (
            [STEP.replace("7", "NaN"), '{"output": "done", "cost_usd": NaN, "tokens_in": 3}'],
            "done",
            ["refund"],
        ),
        (['{"output": "done", "cost_usd": Infinity}'], "done", []),
        (["Here is one:", '{"output": 1}'], 'Here is one:\n{"output": 1}', []),
    ],
)
def test_the_steps_that_a_program_prints_count_whatever_else_it_prints(
    printed: list[str], output: str, names: list[str]
):
    """Or else a tool that was called would count as never called; Python writes numbers that JSON doesn't have."""
    _, read = read_transcript([(0.1, line) for line in printed])
    assert (read.output, [step.name for step in read.steps]) == (output, names)
    assert (read.failed, read.cost_usd) == ("", None)


@pytest.mark.parametrize(
    "printed", [[STEP, '{"output": "do'], [STEP[:30], '{"output": "done"}'], [STEP, STEP[:30]]]
)
def test_a_line_of_a_program_that_was_cut_off_is_no_answer(printed: list[str]):
    """What it did, or said, is missing."""
    _, read = read_transcript([(0.1, line) for line in printed])
    assert read.failed.startswith("printed a line that is no whole JSON")


def test_a_program_in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It gets a copy of the template, named variables and the prompt; what it leaves is told with its answer."""
    monkeypatch.setenv("SHOP_TOKEN", "not for it")
    monkeypatch.setenv("SHOP_CITY", "Oslo")
    seed = tmp_path / "seed"
    seed.mkdir()
    (seed / "keep.txt").write_text("kept")
    (seed / "gone.txt").write_text("gone")
    (seed / "plan.txt").write_text("old")
    command = script(
        tmp_path,
        """
        prompt=$(cat)
        rm gone.txt; echo new > plan.txt; mkdir -p a/b; printf 'deep' > a/b/c.txt
        printf 'a\\0b' > raw.bin; ln -s /etc/passwd link.txt; mkfifo pipe
        if echo x > "$0.escaped" 2>/dev/null; then out=yes; else out=no; fi
        echo '{"kind":"tool","name":"plan","arguments":{"city":"'$SHOP_CITY'"},"result":"'$SHOP_TOKEN'"}'
        echo '{"output":"'$prompt' '$out'","tokens_in":5,"tokens_out":2,"cost_usd":0.5}'
        """,
    )
    agent = CommandAgent(command, template="seed", pass_env=["SHOP_CITY"], base=tmp_path)
    reply = asked(agent, "Oslo?")
    here = sandbox_here()
    assert reply.output == ("Oslo? no" if here.program else "Oslo? yes"), here.why
    assert (reply.usage.tokens_in, reply.cost_usd) == (5, 0.5)
    assert [(s.name, s.arguments, s.result) for s in reply.steps] == [
        ("plan", {"city": "Oslo"}, "")
    ]
    metadata = reply.metadata
    assert metadata["files"] == {"plan.txt": "new\n", "a/b/c.txt": "deep"}
    assert metadata["deleted"] == ["gone.txt"]
    assert metadata["omitted"] == {"raw.bin": "binary, 3 bytes"}
    assert metadata["sandbox"] == (
        "bwrap, with network" if here.program else f"no sandbox: {here.why}"
    )
    assert (seed / "plan.txt").read_text() == "old"


def test_an_agents_steps_are_within_its_call(tmp_path: Path):
    """Their parents are places among themselves."""
    command = script(
        tmp_path, """echo '{"kind":"tool","name":"x","result":1}'; echo '{"output":{"a":1}}'"""
    )
    agent = CommandAgent(command, base=tmp_path, sandbox="none")
    reply = asked(agent)
    assert reply.output == {"a": 1}
    assert agent.request(Prompt.of("a")).identity.startswith(b'{"code"')
    steps = steps_from([StepNote(Step("agent", "me", started_s=2.0), inner=reply.steps)])
    assert [(s.name, s.parent) for s in steps] == [("me", None), ("x", 0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo half; echo 'no key' >&2; exit 3", "ended with code 3: no key"),
        ("kill -9 $$", "signal 9"),
        ("exit 0", "printed no answer"),
        ("sleep 30", "took longer than 0.3 s"),
        ("""echo '{"kind":"tool","name":"x"}'; echo '{"error":"it is down"}'""", "it is down"),
    ],
)
def test_what_it_runs_on_failed(tmp_path: Path, text: str, said: str):
    """Never a failure of the agent."""
    command = script(tmp_path, text)
    limit = 0.3 if "sleep" in text else 60
    with pytest.raises(InfrastructureError, match=said):
        asked(CommandAgent(command, base=tmp_path, sandbox="none", timeout_s=limit))


def test_a_program_that_is_not_there(tmp_path: Path):
    """The sandbox does not hide which one."""
    with pytest.raises(InfrastructureError, match="there is no program no-such-agent"):
        asked(CommandAgent("no-such-agent --fast", base=tmp_path))


def test_what_a_program_leaves_running_does_not_keep_it(tmp_path: Path):
    """It holds the program's output open."""
    command = script(tmp_path, "sleep 300 & echo done")
    assert asked(CommandAgent(command, base=tmp_path, sandbox="none")).text == "done"


@pytest.mark.parametrize(
    ("command", "model", "words"),
    [
        ("claude", "", ["claude", "-p", "--output-format", "stream-json", "--verbose"]),
        (
            "./claude --print --max-turns 3",
            "opus",
            "./claude --output-format stream-json --verbose --model opus --print --max-turns 3".split(),
        ),
        ("codex", "", ["codex", "exec", "--json", "--skip-git-repo-check"]),
        (
            "codex exec --json -s read-only",
            "",
            ["codex", "exec", "--skip-git-repo-check", "--json", "-s", "read-only"],
        ),
    ],
)
def test_the_commands_of_known_agents_are_completed(command: str, model: str, words: list[str]):
    """What already exists is not written twice."""
    assert CommandAgent(command, model=model, base=Path()).words() == words


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"tempalte": "x"}, "Did you mean 'template'"),
        ({"template": "nowhere"}, "is not a folder"),
        ({"sandbox": "firejail"}, "There are: auto, required, none"),
        ({"network": False, "sandbox": "none"}, "nothing but the sandbox"),
        ({"passEnv": "HOME"}, "not a list"),
        ({"timeoutMs": "soon"}, "timeoutMs"),
        ({"model": "gpt-5"}, "model is for claude and codex"),
    ],
)
def test_settings_that_it_cannot_have(tmp_path: Path, config: dict[str, Any], said: str):
    """Before anything is run."""
    with pytest.raises(UsageError) as told:
        create("agent:./mine.sh", config=config, env=dict(os.environ), base=tmp_path)
    assert said in str(told.value)


def test_promptfoos_names_say_what_to_write():
    """They name agents, not models."""
    for id_, said in (
        ("anthropic:claude-agent-sdk", "agent:claude"),
        ("openai:codex-sdk", "agent:codex"),
    ):
        with pytest.raises(UsageError, match=said):
            create(id_, env={}, base=Path())


def test_a_changed_template_is_another_request(tmp_path: Path):
    """An answer that was recorded for the old one does not stand for it."""
    (tmp_path / "seed").mkdir()
    agent = CommandAgent(f"{sys.executable} -V", template="seed", base=tmp_path)
    before = agent.request(Prompt.of("a")).key
    assert agent.request(Prompt.of("a")).key == before
    (tmp_path / "seed" / "new.txt").write_text("x")
    assert agent.request(Prompt.of("a")).key != before
