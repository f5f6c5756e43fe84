"""kill -9 while batches are made, are out and come in: nothing is lost, and nothing that was answered is paid twice."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.store.runfile import RunFile
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

KILLS = 6
ROWS = 40
SIZE = 10
QUICK = ("--batch-poll", "0.05", "--batch-size", str(SIZE))
QUIET = ("--no-progress", "--no-table")
MODELS: list[dict[str, Any]] = [
    {"id": "openai:chat:gpt-4o-mini", "config": {"max_tokens": 50}},
    {"id": "anthropic:messages:claude-haiku-4-5", "config": {"max_tokens": 50}},
]
JUDGE = {"id": "openai:chat:gpt-4.1-mini", "config": {"max_tokens": 50}}
RUBRIC = {"type": "llm-rubric", "value": "is a reply", "provider": JUDGE}


@pytest.mark.timeout(900)
def test_a_killed_run_finds_its_batches_again_and_pays_for_no_answer_twice(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """At random instants, many of them between a vendor's making of a batch and our note of it."""
    verdict = Rule(model="gpt-4.1-mini", reply={"reason": "so", "pass": True, "score": 1})
    rules = BatchRules(takes_s=3600, speed=36_000, create_ms=120)
    fake = serve(Script([verdict]), batches=rules)
    evals = folder(fake)
    evals.write(ROWS, providers=MODELS, defaultTest={"assert": [RUBRIC]})
    live = evals.run("run", *QUIET, "--no-cache", "--json")
    assert live.returncode == 1, live.stderr
    wanted, sent = settled(json.loads(live.stdout)), fake.ledger.total
    fake.ledger.clear()
    seed = 11
    draw = random.Random(seed)
    print("seed", seed)  # noqa: T201 (for whoever looks at a failure)
    process = evals.start(
        "run", *QUIET, "--no-cache", "--batch", *QUICK, env={"EVENHAND_HOME": str(evals.home / "b")}
    )
    until(lambda: bool(fake.openai_batches.batches))
    for kills in range(1, KILLS + 1):
        time.sleep(draw.uniform(0.6, 2.2))
        if process.poll() is not None:
            break
        process.kill()
        process.wait()
        runs = list((evals.home / "b" / "runs").glob("*.db"))
        if runs:
            with RunFile.open(runs[0]) as run:
                intents = [batch for batch in run.batches() if batch.state == "intended"]
                calls = sum(batch.requests for batch in intents)
                assert len(intents) <= kills
                assert len(run.in_doubt()) == calls
                assert all((batch.bound_usd or 0) > 0 for batch in intents)
        verb = ("resume", *QUIET) if runs else ("run", *QUIET, "--no-cache", "--batch", *QUICK)
        process = evals.start(*verb, env={"EVENHAND_HOME": str(evals.home / "b")})
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    shown = evals.run("show", "--json", env={"EVENHAND_HOME": str(evals.home / "b")})
    document = json.loads(shown.stdout)
    assert document["run"]["status"] == "finished"
    assert settled(document) == wanted
    assert (fake.ledger.total, fake.ledger.repeated) == (sent, 0), out
    assert fake.ledger.price <= 0.505 * sent
