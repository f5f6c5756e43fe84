"""A run of conversations that has to end early does end: workers that wait for a next turn are let go."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider, Script

QUIET = ("--no-progress", "--no-table", "--no-cache")
PROMPT = "{% for turn in _conversation %}{{turn.output}} {% endfor %}Say {{n}}"
MODEL = {"id": "openai:chat:m", "config": {"cost": 0.0001, "max_tokens": 50}}


def talk(evals: Folder, **more: Any) -> None:
    """Two conversations of twenty turns each: eight of ten workers wait."""
    tests = [
        {"vars": {"n": f"number {i}"}, "metadata": {"conversationId": str(i % 2)}}
        for i in range(40)
    ]
    evals.write(0, prompts=[PROMPT], providers=[MODEL], tests=tests, **more)


def test_a_spent_budget_ends_a_run_of_conversations(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Each turn costs at most about a cent; there are three."""
    fake = serve(Script())
    evals = folder(fake)
    talk(evals)
    ended = evals.run("run", *QUIET, "-j", "10", "--max-cost", "0.03")
    assert ended.returncode == 4, ended.stderr
    assert 0 < fake.ledger.total < 40


def test_an_interrupt_ends_a_run_of_conversations_once_what_is_under_way_is_done(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Not when the time for that is up, a minute later."""
    fake = serve(Script(), latency_ms=50)
    evals = folder(fake)
    talk(evals)
    process = evals.start("run", *QUIET, "-j", "10")
    until(lambda: fake.ledger.total >= 4)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=45)
    assert process.returncode == 130, err
    total = fake.ledger.total
    assert total < 40
    fake.latency_ms = 0
    assert evals.run("resume", "--no-progress", "--no-table").returncode == 0
    assert (fake.ledger.total, fake.ledger.repeated) == (40, 0)
