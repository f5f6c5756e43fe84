"""kill -9 while batches are made, are out and come in: nothing is lost, and nothing that was answered is paid twice."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.store.runfile import RunFile
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

KILLS = int(os.environ.get("KILLS", "3"))
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


SLOWLY_ANSWERED = BatchRules(takes_s=0, speed=1, create_ms=3000)


def _killed_while_a_batch_is_made(evals: Folder, fake: FakeProvider) -> Path:
    """The run's file: the vendor has made the batch, and we haven't noted its id."""
    evals.write(3, providers=MODELS[1:])
    process = evals.start("run", *QUIET, "--no-cache", "--batch", "--batch-poll", "0.05")
    until(lambda: bool(fake.anthropic_batches.batches))
    process.kill()
    process.wait()
    (path,) = (evals.home / "runs").glob("*.db")
    with RunFile.open(path) as run:
        assert [batch.state for batch in run.batches()] == ["intended"]
    return path


@pytest.mark.parametrize("vendor_is_behind_s", [-3 * 3600, 3 * 3600, 25 * 3600])
def test_a_batch_is_found_again_where_the_vendors_clock_is_another(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder], vendor_is_behind_s: int
) -> None:
    """Killed after the vendor made the batch and before we noted it, with clocks up to a wrong time zone apart."""
    fake = serve(Script(), batches=SLOWLY_ANSWERED)
    fake.anthropic_batches.advance(-vendor_is_behind_s)
    evals = folder(fake)
    _killed_while_a_batch_is_made(evals, fake)
    resumed = evals.run("resume", *QUIET)
    assert len(fake.anthropic_batches.batches) == 1, resumed.stderr
    assert fake.ledger.repeated == 0


def test_a_batch_that_was_never_made_is_made_again_after_the_clock_was_set_back(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """By our clock, it is still to be submitted, tomorrow: so it is looked for a few times, and not until then."""
    fake = serve(Script(), batches=SLOWLY_ANSWERED)
    evals = folder(fake)
    path = _killed_while_a_batch_is_made(evals, fake)
    fake.anthropic_batches.batches.clear()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update batch set intended_at = intended_at + 86400")
    evals.run("resume", *QUIET)
    assert [len(batch.lines) for batch in fake.anthropic_batches.batches.values()] == [3]
