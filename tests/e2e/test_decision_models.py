"""A decision model is called like any other: journal, cache, replay, budget and prices hold for it; so do probes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

EVALS = """
from evenhand import Case, Dataset, EvalSet, Expect
from evenhand.scorers import CLARITY, Passes, Rating

evals = EvalSet(
    "shop",
    data=Dataset.of(*({"id": f"case {i}", "input": f"parcel {i}"} for i in range(6))),
    judge="JUDGE",
)


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    text = f"Dear customer, {case.input} is on its way."
    expect(text, Passes("is polite"), metric="polite")
    expect(text, Passes("has a date"), metric="dated")
    expect(text, Rating(CLARITY), at_least=3)
    return text
"""
CONFIG = """
prompts: ["Tell me of {{q}}"]
providers: [{id: openai:chat:gpt-5-mini}]
defaultTest:
  options: {provider: "openai:decisions:gpt-6-luna"}
  vars: {context: ["Tides come twice a day."]}
  assert:
    - {type: llm-rubric, value: is polite}
    - {type: model-graded-closedqa, value: has a date}
    - {type: factuality, value: Tides come twice a day.}
    - {type: context-recall, value: Tides come twice a day. They are wet.}
    - {type: context-faithfulness, threshold: 0.5}
tests: [{vars: {q: tides, query: What of tides?}}, {vars: {q: moons, query: What of moons?}}]
"""
RULES = [
    Rule(system="is polite", reply=0.9),
    Rule(system="has a date", reply=0.3),
    Rule(system="rate by this rubric", reply={"score": 4}),
    Rule(system="facts that", reply="C"),
    Rule(system="follow from it alone", reply=0.8),
    Rule(("Tell me of",), "They come twice a day.", model="gpt-5-mini"),
]
Evenhand = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A provider of all dialects."""
    with FakeProvider(Script(RULES)) as server:
        yield server


@pytest.fixture
def evenhand(tmp_path: Path, fake: FakeProvider) -> Evenhand:
    """The command line, in a folder of its own."""

    def called(*arguments: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **fake.env(), "EVENHAND_HOME": str(tmp_path / "home")}
        command = [*COMMAND, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )

    return called


def _evals(folder: Path, judge: str) -> None:
    (folder / "shop_evals.py").write_text(EVALS.replace("JUDGE", judge), "utf-8")


def _json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


JUDGES = (
    "openai:decisions:gpt-6-luna",
    "google:decisions:gemini-decision-1",
    "systemone:kev@{url}",
    "decisions:{url}",
)


@pytest.mark.parametrize("judge", JUDGES)
def test_a_trial_is_one_call_that_cache_and_replay_answer(
    judge: str, tmp_path: Path, fake: FakeProvider, evenhand: Evenhand
):
    """A second run is paid by the cache, and a replay asks nobody."""
    _evals(tmp_path, judge.format(url=fake.url))
    first = _json(evenhand("run", "--json"))
    assert fake.ledger.total == 6
    again = _json(evenhand("run", "--json"))
    assert fake.ledger.total == 6
    replayed = _json(evenhand("run", "--json", "--no-cache", "--replay", first["run"]["id"]))
    assert fake.ledger.total == 6
    outcomes = [
        [[outcome["outcome"] for outcome in trial["outcomes"]] for trial in run["trials"]]
        for run in (first, again, replayed)
    ]
    assert outcomes[0] == [["pass", "fail", "pass"]] * 6
    assert outcomes[1] == outcomes[2] == outcomes[0]


def test_a_budget_holds(tmp_path: Path, fake: FakeProvider, evenhand: Evenhand):
    """The price is known, so that no call is sent which could pass the limit."""
    _evals(tmp_path, "openai:decisions:gpt-6-luna")
    done = evenhand("run", "--max-cost", "0.0002")
    assert "budget" in done.stdout + done.stderr
    assert 0 < fake.ledger.total < 6


def test_what_has_no_price_is_not_sent_under_a_budget(
    tmp_path: Path, fake: FakeProvider, evenhand: Evenhand
):
    """A server of one's own says what a call costs at most in its config."""
    _evals(tmp_path, f"systemone:kev@{fake.url}")
    done = evenhand("run", "--max-cost", "1")
    assert done.returncode == 2
    assert "maxCost" in done.stderr + done.stdout
    assert fake.ledger.total == 0


def test_promptfoos_assertions_are_asked_of_one_in_one_request(
    tmp_path: Path, fake: FakeProvider, evenhand: Evenhand
):
    """Verdicts, categories, and yes or no of each sentence."""
    (tmp_path / "promptfooconfig.yaml").write_text(CONFIG, "utf-8")
    run = _json(evenhand("run", "--json"))
    decided = [request.path for request in fake.requests if "decisions" in request.path]
    assert len(decided) == 2
    for trial in run["trials"]:
        assert [outcome["outcome"] for outcome in trial["outcomes"]] == [
            "pass",
            "fail",
            "pass",
            "pass",
            "pass",
        ]


def test_show_prints_the_probability(tmp_path: Path, evenhand: Evenhand):
    """Beside the verdict."""
    _evals(tmp_path, "openai:decisions:gpt-6-luna")
    evenhand("run")
    text = evenhand("show", "answers:1").stdout
    assert "probability  0.9" in text
    assert "the probability that it does is 0.30" in text


def test_injections_run_on_it(tmp_path: Path, fake: FakeProvider, evenhand: Evenhand):
    """An injected text is in the state alone; a judge that falls for one is found."""
    _evals(tmp_path, "openai:decisions:gpt-6-luna")
    evenhand("run")
    fake.script.rules = [Rule(last="(?i)criteria|judge|instruction", reply=0.99), *RULES]
    done = evenhand("probe", "--json", "--metric", "dated")
    assert done.returncode in (1, 3), done.stderr
    (judge,) = json.loads(done.stdout)["judges"]
    passed = {kind["kind"]: kind["passed"] for kind in judge["kinds"]}
    assert passed["instructions"] > 0
    assert passed["none"] == 0
    # The attack is in the state, and in no question.
    assert all("/decisions" in request.path for request in fake.requests)
