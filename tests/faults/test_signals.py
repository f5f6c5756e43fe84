"""Ctrl-C once finishes what was begun, twice stops; SIGTERM finishes what was begun."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Script

FLAGS = ("run", "--no-progress", "--no-table", "-j", "5", "--no-cache")


def _started(fake: FakeProvider, evals: Any) -> Any:
    process = evals.start(*FLAGS)
    end = time.monotonic() + 20
    while fake.ledger.total < 12:
        assert time.monotonic() < end, "nothing was asked"
        time.sleep(0.005)
    return process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_lets_what_was_begun_finish_and_begins_nothing_more(
    number: int, code: int, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Nothing is lost: as many trials are stored as completions were paid for; the rest is left to resume."""
    fake = serve(Script(), latency_ms=50)
    evals = folder(fake)
    evals.write(400)
    process = _started(fake, evals)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert process.returncode == code, err
    assert "finishing" in err
    document = evals.document()
    assert document["run"]["status"] == "interrupted"
    assert document["verdict"] == "failed"
    assert document["totals"]["trials"] == fake.ledger.total < 400
    assert "evenhand resume" in out
    assert evals.run("resume", "--no-progress", "--no-table").returncode == 1
    assert fake.ledger.repeated == 0
    assert evals.document()["totals"]["trials"] == 400


def test_a_second_interrupt_stops_at_once(
    serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """What is in flight is given up, reported in doubt, and asked again on resume."""
    fake = serve(Script(), latency_ms=50)
    evals = folder(fake)
    evals.write(60)
    process = _started(fake, evals)
    fake.script.default = "slow {ref} ref"
    fake._latency_s = 30.0
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    _, err = process.communicate(timeout=10)
    assert time.monotonic() - started < 5
    assert process.returncode == 130, err
    fake._latency_s = 0.0
    resumed = evals.run("resume", "--no-progress", "--no-table")
    assert "in doubt: 5 calls" in resumed.stderr
    assert evals.document()["totals"]["trials"] == 60
