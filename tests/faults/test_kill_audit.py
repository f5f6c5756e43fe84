"""Audits that ask judges, stopped on their way: `resume` ends with the same report, and pays for no reply twice."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider, Rule, Script

ROWS = 12
COST = 0.000_001
JUDGE = {"id": "openai:chat:judge", "config": {"cost": COST, "max_tokens": 50}}
QUIET = ("--no-progress", "--json", "-j", "4")
LENIENT = Rule(match=("item 3",), reply={"reason": "so", "pass": True, "score": 1})
STRICT = Rule(reply={"reason": "no", "pass": False, "score": 0})


def judged(evals: Folder) -> None:
    """A config whose cases a judge decides."""
    tests = [
        {
            "vars": {
                "n": f"What does item {i} cost?",
                "expected": f"Item {i} costs {i + 4} euros.",
            },
            "assert": [{"type": "llm-rubric", "value": f"names item {i}", "provider": JUDGE}],
        }
        for i in range(ROWS)
    ]
    evals.write(0, tests=tests)


def parts(document: str) -> dict[str, Any]:
    """What an audit says, without the run's id."""
    audit = json.loads(document)
    return {key: audit[key] for key in ("score", "subjects", "findings", "examined", "skipped")}


def run_of(evals: Folder) -> str:
    """The id of its only run."""
    (path,) = (evals.home / "runs").glob("*.db")
    return path.stem


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_a_stopped_audit_is_resumed_to_the_same_report_and_pays_for_no_reply_twice(
    stop: signal.Signals, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Whichever way it ends: what was answered is in its run."""
    fake = serve(Script([LENIENT, STRICT]), latency_ms=20)
    whole = folder(fake, "whole")
    judged(whole)
    ended = whole.run("audit", ".", "--judges", *QUIET)
    assert ended.returncode == 0, ended.stderr
    price = fake.ledger.total
    assert price > 5 * ROWS

    fake.ledger.clear()
    evals = folder(fake, "stopped")
    judged(evals)
    process = evals.start("audit", ".", "--judges", *QUIET)
    until(lambda: fake.ledger.total >= price // 3)
    process.send_signal(stop)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in err, err
    assert fake.ledger.total < price
    run = run_of(evals)
    if stop == signal.SIGINT:
        assert f"evenhand resume {run[:10]}" in err, err
    # What is run in between is no part of it: it would make other subjects.
    assert evals.run("run", ".", *QUIET).returncode == 1
    resumed = evals.run("resume", run, "--no-progress", "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert parts(resumed.stdout) == parts(ended.stdout)
    # What was on its way when the process was killed may have been billed, and is asked again.
    assert fake.ledger.repeated <= 4 * (stop == signal.SIGKILL)


def test_an_audit_keeps_to_its_budget_and_says_what_it_did_not_ask(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Its report has what was answered; with more money it is continued."""
    fake = serve(Script([LENIENT, STRICT]))
    evals = folder(fake)
    judged(evals)
    ended = evals.run("audit", ".", "--max-cost", "0.01", *QUIET)
    assert ended.returncode != 0
    assert 0 < fake.ledger.total < 60
    document = json.loads(ended.stdout)
    assert document["score"]["not_asked"] > 0
    assert "budget" in ended.stderr or "--max-cost" in ended.stderr, ended.stderr
    again = evals.run("resume", run_of(evals), "--max-cost", "1", "--no-progress", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["score"]["not_asked"] == 0


def test_no_model_is_asked_unless_judges_are(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Neither the subjects nor judges, though there are keys."""
    fake = serve(Script([STRICT]))
    evals = folder(fake)
    judged(evals)
    ended = evals.run("audit", ".", "--json")
    assert ended.returncode == 0, ended.stderr
    assert fake.ledger.total == 0
    assert fake.requests == []
    assert not evals.home.exists()
