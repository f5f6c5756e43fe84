"""A provider that refuses, throttles, breaks off and talks nonsense."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Rule, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")


def test_a_wrong_key_costs_no_more_requests_than_are_in_flight_and_ends_the_run_in_seconds(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """10,000 rows, and the key is wrong."""
    fake = serve(Script(), api_key="the-right-one")
    evals = folder(fake)
    evals.write(10_000)
    started = time.monotonic()
    ended = evals.run("run", "-j", "20", *QUIET, env={"OPENAI_API_KEY": "a-wrong-one"})
    assert time.monotonic() - started < 5
    assert ended.returncode == 3
    assert len(fake.requests) <= 20
    assert fake.ledger.total == 0
    assert "OPENAI_API_KEY" in ended.stdout
    assert "a-wrong-one" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr


def test_nothing_is_sent_to_an_account_before_its_retry_after_has_passed(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """One 429 with Retry-After: 2 in the middle of a run holds all calls back, not only the one it answered."""
    fake = serve(
        Script([Rule(("number 20",), fault="429", retry_after="2", times=1)]), latency_ms=20
    )
    evals = folder(fake)
    evals.write(120)
    ended = evals.run("run", "-j", "10", *QUIET)
    assert ended.returncode == 1, ended.stderr
    throttled = next(i for i, seen in enumerate(fake.requests) if seen.status == 429)
    at = fake.requests[throttled].at
    # Those that were on their way when the answer came back are nobody's fault.
    early = [seen for seen in fake.requests if at + 0.15 < seen.at < at + 2.0]
    assert early == []
    assert evals.document()["totals"]["errors"] == 0
    assert fake.ledger.total == 120


@pytest.mark.parametrize("seed", [1, 2])
def test_a_fifth_of_all_attempts_failing_changes_no_count(
    seed: int, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """500s, dropped connections, truncated and malformed bodies: asked again until an answer is whole."""
    faults = {"500": 0.05, "drop": 0.05, "truncate": 0.05, "malformed": 0.05}
    fake = serve(Script(faults=faults, seed=seed))
    evals = folder(fake)
    evals.write(150)
    ended = evals.run("run", "-j", "20", *QUIET)
    assert ended.returncode == 1, ended.stderr
    totals = evals.document()["totals"]
    assert (totals["trials"], totals["passed"], totals["failed"], totals["errors"]) == (
        150,
        100,
        50,
        0,
    )
    assert {seen.fault for seen in fake.requests} >= {"500", "drop", "truncate", "malformed"}


def test_a_request_that_the_vendor_will_never_take_is_an_error_of_its_trial_alone(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """It is sent once, its neighbours are not touched, and the run has no verdict of its own making."""
    fake = serve(Script([Rule(("number 7$",), fault="400")]))
    evals = folder(fake)
    evals.write(12)
    ended = evals.run("run", *QUIET)
    document = evals.document()
    assert document["totals"]["errors"] == 1
    assert [t["error"]["slug"] for t in document["trials"] if t["error"]] == ["bad-request"]
    assert len(fake.requests) == 12
    assert "error" in ended.stdout


def test_a_budget_is_never_passed(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Each call's worst price is set aside before it is sent; the run stops before the next could pass the limit."""
    fake = serve(Script())
    evals = folder(fake)
    price = {"cost": 0.0001, "max_tokens": 50}
    evals.write(200, providers=[{"id": "openai:chat:gpt-4o-mini", "config": price}])
    ended = evals.run("run", "--max-cost", "0.2", *QUIET)
    assert ended.returncode == 4, ended.stderr
    document = evals.document()
    assert document["run"]["status"] == "out_of_budget"
    assert 0 < document["totals"]["cost_usd"] <= 0.2
    assert fake.ledger.total < 200
