"""A judge that is out of reach has a fallback, whose verdicts are marked and have a calibration of their own."""

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
from evenhand.scorers import Passes

evals = EvalSet(
    "shop",
    data=Dataset.of(*({"id": f"case {i}", "input": f"parcel {i}."} for i in range(6))),
    judge=JUDGE,
)


@evals.eval
def answers(case: Case, expect: Expect) -> str:
    expect(case.input, Passes("is polite"), metric="polite")
    return case.input
"""
WRITTEN = {"reasoning": "It is kind.", "passes": True, "confidence": 0.9}
Evenhand = Callable[..., subprocess.CompletedProcess[str]]
Start = Callable[[list[Rule]], tuple[FakeProvider, Evenhand]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A provider with these rules, and a command line in a folder."""
    fakes: list[FakeProvider] = []

    def started(rules: list[Rule]) -> tuple[FakeProvider, Evenhand]:
        fake = FakeProvider(Script(rules)).start()
        fakes.append(fake)

        def evenhand(*arguments: str) -> subprocess.CompletedProcess[str]:
            env = {**os.environ, **fake.env(), "EVENHAND_HOME": str(tmp_path / "home")}
            command = [*COMMAND, *arguments]
            return subprocess.run(
                command,
                cwd=tmp_path,
                env=env,
                capture_output=True,
                text=True,
                timeout=200,
                check=False,
            )

        return fake, evenhand

    yield started
    for fake in fakes:
        fake.stop()


def _write(folder: Path, judge: object) -> None:
    (folder / "shop_evals.py").write_text(EVALS.replace("JUDGE", repr(judge)), "utf-8")


def _run(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


LUNA, GPT = "openai:decisions:gpt-6-luna", "openai:chat:gpt-5"
OUTAGE = [
    Rule(system="is polite", fault="503", model="gpt-6-luna"),
    Rule(model="gpt-5", reply=WRITTEN),
]
QUOTA = [
    Rule(system="is polite", reply=0.97, model="gpt-6-luna", last=r"parcel [0-2]\."),
    Rule(system="is polite", fault="402", model="gpt-6-luna"),
    Rule(model="gpt-5", reply=WRITTEN),
]


def test_a_fallback_judges_when_the_first_is_down(tmp_path: Path, start: Start):
    """A decision model's question is put to a judge that writes; the verdict says why."""
    _write(tmp_path, [LUNA, GPT])
    fake, evenhand = start(OUTAGE)
    run = _run(evenhand("run", "--json", "--retries", "0"))
    outcomes = [trial["outcomes"][0] for trial in run["trials"]]
    assert {outcome["outcome"] for outcome in outcomes} == {"pass"}
    assert all(outcome["metadata"]["judge"] == "gpt-5" for outcome in outcomes)
    assert all("503" in outcome["metadata"]["fallback"] for outcome in outcomes)
    (rate,) = run["judged"]
    assert (rate["model"], rate["fallback"]) == ("gpt-5", True)
    assert "6 verdicts of the fallback" in evenhand("show").stdout
    assert "fallback" in evenhand("show", "answers:1").stdout
    assert fake.ledger.total >= 1


def test_each_has_a_calibration_of_its_own_and_required_means_both(tmp_path: Path, start: Start):
    """Without one of the fallback's there is no verdict."""
    _write(tmp_path, [LUNA, GPT])
    _, evenhand = start(QUOTA)
    run = _run(evenhand("run", "--json", "--retries", "0", "-j", "1"))
    by_model = {rate["model"]: rate for rate in run["judged"]}
    assert set(by_model) == {"gpt-6-luna", "gpt-5"}
    assert not by_model["gpt-6-luna"]["fallback"]
    assert by_model["gpt-5"]["fallback"]
    assert by_model["gpt-5"]["judged"] + by_model["gpt-6-luna"]["judged"] == 6
    required = evenhand("run", "--retries", "0", "--calibrated", "required")
    assert required.returncode == 3
    assert "calibration is required" in required.stdout


def test_without_an_outage_the_first_judges(tmp_path: Path, start: Start):
    """Nobody else is asked, and nothing is marked."""
    _write(tmp_path, [LUNA, GPT])
    fake, evenhand = start([Rule(system="is polite", reply=0.97)])
    run = _run(evenhand("run", "--json"))
    assert {request.path for request in fake.requests} == {"/v1/decisions"}
    assert all("fallback" not in trial["outcomes"][0]["metadata"] for trial in run["trials"])


def test_a_refusal_is_no_outage(tmp_path: Path, start: Start):
    """A judge that doesn't want to is not replaced by one that does."""
    _write(tmp_path, [LUNA, GPT])
    fake, evenhand = start([Rule(system="is polite", reply="refusal")])
    run = _run(evenhand("run", "--json"))
    assert {trial["outcomes"][0]["outcome"] for trial in run["trials"]} == {"error"}
    assert {request.path for request in fake.requests} == {"/v1/decisions"}


@pytest.mark.parametrize("where", ["config", "project"])
def test_a_list_may_stand_wherever_a_judge_is_named(where: str, tmp_path: Path, start: Start):
    """In a config, and in a project's settings."""
    rules = [Rule(("Say hi",), "hi", model="gpt-5-mini"), *OUTAGE]
    rules.append(Rule(model="gpt-5", reply={"reason": "so", "pass": True, "score": 1}))
    _, evenhand = start([rules[0], rules[1], rules[-1]])
    named = f"options: {{provider: ['{LUNA}', '{GPT}']}}, " if where == "config" else ""
    (tmp_path / "promptfooconfig.yaml").write_text(
        "prompts: ['Say hi']\nproviders: [openai:chat:gpt-5-mini]\n"
        f"defaultTest: {{{named}assert: [{{type: llm-rubric, value: is polite}}]}}\n"
        "tests: [{vars: {a: 1}}]\n".replace("\\\n", "\n"),
        "utf-8",
    )
    if where == "project":
        (tmp_path / "pyproject.toml").write_text(f"[tool.evenhand]\njudge = ['{LUNA}', '{GPT}']\n")
    run = _run(evenhand("run", "--json", "--retries", "0"))
    (outcome,) = run["trials"][0]["outcomes"]
    assert outcome["outcome"] == "pass"
    assert outcome["metadata"]["fallback"]


def test_an_unknown_judge_in_the_list_is_reported_before_the_run(tmp_path: Path, start: Start):
    """As any other is."""
    _write(tmp_path, [LUNA, "opnai:chat:gpt-5"])
    _, evenhand = start([])
    done = evenhand("run")
    assert done.returncode == 2
    assert "opnai:chat:gpt-5" in done.stderr


def test_what_a_fallback_judged_is_compared_only_with_what_it_judged(tmp_path: Path, start: Start):
    """Cases that the first judge judged before are left out; if that is all of them, it is undecided.

    It is asked the same in the words of its kind: no other test, and nothing that an application answered.
    """
    _write(tmp_path, [LUNA, GPT])
    _, evenhand = start([Rule(system="is polite", reply=0.97, model="gpt-6-luna")])
    evenhand("run")
    evenhand("baseline", "--to", "b.evn")
    cases = "judged by gpt-5 instead of gpt-6-luna"
    for rules, left in (
        (QUOTA, f"3 cases {cases}: case 3, case 4, case 5"),
        (OUTAGE, f"undecided · 0 points over 6 cases ({cases})"),
    ):
        _, again = start(rules)
        again("run", "--retries", "0", "-j", "1", "--no-cache")
        words = "--baseline", "b.evn", "--margin", "0.1", "--retries", "0", "-j", "1", "--no-cache"
        gate = " ".join(again("gate", *words).stdout.split())
        compared = " ".join(again("compare", "latest~1", "latest").stdout.split())
        first = " ".join(again("compare", "latest~2", "latest").stdout.split())
        assert left in gate
        assert "judging has changed since the baseline: judge of polite, gpt-5" in gate
        assert "over 6 cases" in compared
        assert cases in first
        for text in (gate, compared, first):
            assert "prompt changed" not in text
