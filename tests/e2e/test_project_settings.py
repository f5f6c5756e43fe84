"""What a project says once, at each front door; and what goes over it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.commands import Ended, Run, in_process

from evenhand import score_batch
from evenhand.testing import FakeProvider, Rule, Script

SET = """\
from evenhand import EvalSet
from evenhand.scorers import EditDistance, TokenF1

evals = EvalSet("words", data=[{"id": "a", "input": "x"}])

@evals.eval
def words(expect):
    expect("one two", TokenF1("one two three four"){more})
    expect("one", EditDistance("one two"){more})
"""
CONFIG = """\
prompts: ["{{x}}"]
providers: [openai:chat:gpt-5-mini]
tests: [{vars: {x: hello}}]
"""


@pytest.fixture
def evenhand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return in_process(capsys)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A server that is always overloaded."""
    with FakeProvider(Script([Rule((), fault="503")], "")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def project(text: str) -> None:
    """Writes the project's table."""
    Path("pyproject.toml").write_text(f"[tool.evenhand]\n{text}\n", "utf-8")


def outcomes(ended: Ended) -> list[tuple[Any, Any, str]]:
    """The bounds of the one trial's expectations, and what they came to."""
    (trial,) = json.loads(ended.out)["trials"]
    return [(o.get("at_least"), o.get("at_most"), o["outcome"]) for o in trial["outcomes"]]


def test_a_threshold_of_the_project_bounds_what_has_no_bound(evenhand):
    """More is better, or less, as the metric has it; a bound in the file goes before it."""
    Path("words_evals.py").write_text(SET.replace("{more}", ""))
    run = ("run", "words_evals.py", "--json")
    ended = evenhand(*run)
    assert (ended.code, "token_f1 gives a number, and has no bound" in ended.err) == (2, True)
    project("threshold.token_f1 = 0.9\nthreshold.edit_distance = 10")
    assert outcomes(evenhand(*run)) == [(0.9, None, "fail"), (None, 10, "pass")]
    Path("bounded_evals.py").write_text(SET.replace("{more}", ", at_least=0"))
    assert outcomes(evenhand("run", "bounded_evals.py", "--json")) == [
        (0, None, "pass"),
        (0, None, "pass"),
    ]


def test_a_run_resumes_only_under_the_thresholds_that_it_began_with(evenhand):
    """Other bounds are another plan."""
    from evenhand.doors.eval_sets.discovery import find
    from evenhand.doors.eval_sets.plan import plan_of

    Path("words_evals.py").write_text(SET.replace("{more}", ""))
    prints: set[str] = set()
    for bound in (0.5, 0.6):
        project(f"threshold.token_f1 = {bound}\nthreshold.edit_distance = 10")
        prints.add(plan_of(find(["words_evals.py"]).sets, env={}).fingerprint)
    assert len(prints) == 2


def test_a_threshold_of_the_project_bounds_batches(evenhand):
    """Those that are measured, where the call says no bound at all."""
    rows = [{"id": "a", "input": "q", "expected": "one two", "answer": "one"}]
    project("threshold.token_f1 = 0.9\nthreshold.faithfulness = 0.5")
    report = score_batch(rows, metrics=["token_f1"])
    assert len(report.failures()) == 1
    report = score_batch(rows, metrics=["token_f1"], at_least={"token_f1": 0.1})
    assert report.failures() == []


@pytest.mark.parametrize("door", ["config", "prompts", "evals", "send"])
def test_the_project_says_how_often_a_call_is_tried_again(evenhand, failing, door):
    """At every front door; the command line goes before it."""
    if door == "config":
        Path("promptfooconfig.yaml").write_text(CONFIG)
        words = ("run", ".")
    elif door == "evals":
        Path("ask_evals.py").write_text(
            'from evenhand import EvalSet\nevals = EvalSet("ask", model="openai:gpt-5-mini")\n'
            '@evals.eval\nasync def ask(model, expect):\n    reply = await model.generate("x")\n'
            '    expect(reply.text == "y", "y")\n'
        )
        words = ("run", "ask_evals.py")
    else:
        evenhand("prompt", "new", "greet")
        words = ("run", "prompts/greet")
        if door == "send":
            words = ("prompt", "send", "greet", "--var", "text=x")
    project("retries = 1")
    assert evenhand(*words).code == 3
    assert len(failing.requests) == 2
    if door != "send":
        assert evenhand(*words, "--retries", "0").code == 3
        assert len(failing.requests) == 3


@pytest.mark.parametrize("door", ["config", "prompts", "evals"])
def test_the_project_says_how_long_one_attempt_may_take(evenhand, monkeypatch, door):
    """At every front door; a time limit in the file goes before it."""
    with FakeProvider(Script([Rule((), "y", latency_ms=20_000)], "")) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        project("timeout = 0.2\nretries = 0")
        if door == "config":
            Path("promptfooconfig.yaml").write_text(CONFIG)
            ended = evenhand("run", ".")
        elif door == "evals":
            Path("ask_evals.py").write_text(
                'from evenhand import EvalSet\nevals = EvalSet("ask", model="openai:gpt-5-mini")\n'
                '@evals.eval\nasync def ask(model, expect):\n    reply = await model.generate("x")\n'
                '    expect(reply.text == "y", "y")\n'
            )
            ended = evenhand("run", "ask_evals.py")
        else:
            evenhand("prompt", "new", "greet")
            ended = evenhand("run", "prompts/greet")
    assert ended.code == 3
    assert "within 0.2 s" in ended.out or "0.2 s" in ended.out


def test_the_project_says_how_long_a_function_may_take(evenhand):
    """The command line goes before it."""
    Path("slow_evals.py").write_text(
        "import asyncio\nfrom evenhand import EvalSet\nevals = EvalSet('slow')\n"
        "@evals.eval\nasync def slow(expect):\n    await asyncio.sleep(600)\n    expect(True, 'done')\n"
    )
    project("time-limit = 0.2")
    assert "took longer than 0.2 s" in evenhand("run", "slow_evals.py").out
    assert "took longer than 0.1 s" in evenhand("run", "slow_evals.py", "--time-limit", "0.1").out


def test_doctor_shows_what_the_project_says_with_its_lines(evenhand):
    """And what is wrong with it, as a thing that stops a run."""
    project("judge = 'openai:gpt-5'\nretries = 2\nthreshold.faithfulness = 0.8")
    shown = evenhand("doctor").out
    for line in (
        "project: judge = openai:gpt-5 (pyproject.toml:2)",
        "project: retries = 2 (pyproject.toml:3)",
        "project: threshold.faithfulness = 0.8 (pyproject.toml:4)",
    ):
        assert line in shown
    project("retry = 2")
    ended = evenhand("doctor")
    assert (ended.code, "bad   pyproject.toml:2: [tool.evenhand] has no 'retry'" in ended.out) == (
        2,
        True,
    )


@pytest.mark.parametrize("words", [("run", "."), ("prompt", "list"), ("run", "prompts")])
def test_a_table_that_cannot_be_read_stops_what_depends_on_it(evenhand, words):
    """With file and line, and before anything is sent."""
    Path("promptfooconfig.yaml").write_text(CONFIG)
    evenhand("prompt", "new", "greet")
    Path("prompts/greet/meta.yml").write_text(
        Path("prompts/greet/meta.yml").read_text().replace("status: draft", "status: tested")
    )
    project("timeout = 'long'")
    ended = evenhand(*words)
    assert (ended.code, "pyproject.toml:2: timeout is 'long'" in ended.err) == (2, True)
    assert "Traceback" not in ended.err
