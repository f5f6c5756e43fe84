"""A provider that refuses, throttles, breaks off and talks nonsense."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import until

from evenhand.testing import FakeProvider, Rule, Script
from evenhand.testing.ledger import Ledger

QUIET = ("--no-progress", "--no-table", "--no-cache")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("late", [False, True], ids=["from the start", "in the middle"])
def test_a_wrong_key_costs_no_more_requests_than_are_in_flight_and_ends_the_run_in_seconds(
    late: bool, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """2,000 rows; the key is wrong, or is withdrawn after a while."""
    revoked = Script([Rule(("number 50",), fault="401")])
    fake = serve(revoked, latency_ms=5) if late else serve(Script(), api_key="the-right-one")
    evals = folder(fake)
    evals.write(2_000)
    ended = evals.run("run", "-j", "20", *QUIET, env={"OPENAI_API_KEY": "a-wrong-one"})
    assert ended.returncode == 3
    refused = next(i for i, seen in enumerate(fake.requests) if seen.status == 401)
    assert len(fake.requests) - refused <= 20
    assert (fake.ledger.total == 0) is not late
    assert "OPENAI_API_KEY" in ended.stdout
    assert "a-wrong-one" not in ended.stdout + ended.stderr
    assert "evenhand resume" in ended.stdout


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "headers",
    [{"retry-after": "2"}, {"retry-after": "{date+2}"}, {"retry-after-ms": "2000"}],
    ids=["seconds", "date", "milliseconds"],
)
def test_a_refused_call_waits_for_its_retry_after_and_the_others_go_on(
    headers: dict[str, str], serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """One 429 in the middle of a run is a matter of the call that it answered."""
    busy = Rule(("number 20",), fault="429", headers=headers, times=1)
    fake = serve(Script([busy]), latency_ms=20)
    evals = folder(fake)
    evals.write(60)
    ended = evals.run("run", "-j", "5", *QUIET)
    assert ended.returncode == 1, ended.stderr
    place, at = next((i, seen.at) for i, seen in enumerate(fake.requests) if seen.status == 429)
    assert len(fake.requests) == 61
    least_s = 0.9 if "{date+2}" in headers.values() else 1.9  # a date says whole seconds
    assert fake.requests[-1].at - at >= least_s
    assert fake.requests[-2].at < fake.requests[-1].at
    assert place < 40
    assert evals.document()["totals"]["errors"] == 0
    assert fake.ledger.total == 60


@pytest.mark.thorough
def test_an_account_that_refuses_all_that_is_sent_is_left_alone_for_its_retry_after(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Nobody asks it before, and then one at first."""
    fake = serve(Script([Rule(fault="429", headers={"retry-after": "2"}, times=10)]), latency_ms=20)
    evals = folder(fake)
    evals.write(60)
    ended = evals.run("run", "-j", "10", *QUIET)
    assert ended.returncode == 1, ended.stderr
    last = max(seen.at for seen in fake.requests if seen.status == 429)
    assert [seen.status for seen in fake.requests].count(429) == 10
    after = [seen.at for seen in fake.requests if seen.status == 200]
    assert min(after) >= last + 1.9
    assert evals.document()["totals"]["errors"] == 0
    assert fake.ledger.total == 60


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "faults",
    [
        ("500", "drop", "truncate", "malformed"),
        ("503", "lose", "reset", "html", "empty"),
        ("429", "529", "drop", "malformed"),
    ],
    ids=", ".join,
)
def test_a_fifth_of_all_attempts_failing_changes_no_count(
    faults: tuple[str, ...], serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Errors, lost connections, halves of answers and nonsense: asked again until an answer is whole."""
    fake = serve(Script(faults={name: 0.2 / len(faults) for name in faults}, seed=1))
    evals = folder(fake)
    evals.write(150)
    ended = evals.run("run", "-j", "20", *QUIET)
    assert ended.returncode == 1, ended.stderr
    totals = evals.document()["totals"]
    counts = {name: totals[name] for name in ("trials", "passed", "failed", "errors")}
    assert counts == {"trials": 150, "passed": 100, "failed": 50, "errors": 0}
    assert {seen.fault for seen in fake.requests} >= set(faults)
    assert len(fake.ledger.delivered) == 150


def test_an_answer_that_never_comes_is_given_up_and_asked_for_again(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """After the provider's own time limit."""
    fake = serve(Script([Rule(("number 3$",), fault="hang", times=1)]))
    evals = folder(fake)
    model = {"id": "openai:chat:gpt-4o-mini", "config": {"timeoutMs": 500}}
    evals.write(6, providers=[model])
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 1, ended.stderr
    assert evals.document()["totals"]["errors"] == 0
    assert [seen.fault for seen in fake.requests].count("hang") == 1
    assert len(fake.requests) == 7


def test_an_answer_that_comes_slowly_is_waited_for(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """In twenty pieces: it is one answer, asked for once."""
    fake = serve(Script(faults={"slow": 1.0}))
    evals = folder(fake)
    evals.write(3)
    ended = evals.run("run", *QUIET)
    assert ended.returncode == 1, ended.stderr
    assert evals.document()["totals"]["errors"] == 0
    assert len(fake.requests) == 3


def test_a_request_that_the_vendor_will_never_take_is_an_error_of_its_trial_alone(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """It is sent once, its neighbours are not touched, and the error is no failure and no score."""
    fake = serve(Script([Rule(("number 7$",), fault="400")]))
    evals = folder(fake)
    evals.write(12)
    ended = evals.run("run", *QUIET)
    document = evals.document()
    (trial,) = [t for t in document["trials"] if t["error"]]
    assert (trial["error"]["slug"], trial["outcome"], trial["score"]) == (
        "bad-request",
        "error",
        None,
    )
    assert (document["totals"]["errors"], document["totals"]["failed"]) == (1, 4)
    assert len(fake.requests) == 12
    assert "error" in ended.stdout


def test_a_vendor_that_is_down_is_given_up_in_words(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Nobody listens at the address: the run stops, says so, and can be resumed once somebody does."""
    fake = serve(Script())
    evals = folder(fake)
    evals.write(40)
    nowhere = {"OPENAI_API_BASE_URL": "http://127.0.0.1:9/v1"}
    ended = evals.run("run", "-j", "10", *QUIET, env=nowhere)
    assert ended.returncode == 3
    assert "127.0.0.1:9" in ended.stdout + ended.stderr
    assert evals.document()["run"]["status"] == "stopped"
    assert evals.document()["totals"]["passed"] == 0


@pytest.mark.thorough
def test_a_vendor_that_is_away_for_a_moment_costs_no_trial(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any], tmp_path: Path
) -> None:
    """A server of its own process, killed in the middle and started again at the same address."""
    evals = folder(serve())
    evals.write(120)
    bill = tmp_path / "bill"

    # The next one is there at once when it is told to: what it has to import would be no moment.
    program = """if True:
        import sys
        from evenhand.testing.__main__ import main

        print("ready", flush=True)
        sys.argv += ["--port", input()]
        main()
    """

    def standby() -> subprocess.Popen[str]:
        command = (sys.executable, "-c", program, "--ledger", str(bill), "--latency-ms", "20")
        server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert server.stdout.readline() == "ready\n"
        return server

    def serving(server: subprocess.Popen[str], port: str) -> str:
        server.stdin.write(f"{port}\n")
        server.stdin.flush()
        return server.stdout.readline().strip()

    def killed(server: subprocess.Popen[str]) -> None:
        server.kill()
        server.communicate()

    server, following = standby(), standby()
    try:
        url = serving(server, "0")
        run = evals.start("run", "-j", "10", *QUIET, env={"OPENAI_API_BASE_URL": f"{url}/v1"})
        until(lambda: Ledger.read(bill).total >= 40)
        killed(server)
        time.sleep(0.5)
        serving(following, url.rpartition(":")[2])
        _, err = run.communicate(timeout=100)
    finally:
        for each in (server, following):
            killed(each)
    assert run.returncode == 1, err
    totals = evals.document()["totals"]
    assert (totals["trials"], totals["passed"], totals["errors"]) == (120, 80, 0)
    ledger = Ledger.read(bill)
    assert len(ledger.counts) == 120
    # What was under way when it died: delivered and not written down any more, or lost and asked for again.
    assert len(ledger.delivered) >= 120 - 10
    assert ledger.repeated <= 10


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
    resumed = evals.run("resume", "--no-progress", "--no-table", "--max-cost", "10")
    assert resumed.returncode == 1, resumed.stderr
    assert (fake.ledger.total, fake.ledger.repeated) == (200, 0)
