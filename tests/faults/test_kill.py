"""kill -9 at any moment: nothing that was received is lost, nothing that was received is paid for again."""

from __future__ import annotations

import random
import re
import shutil
import time
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.testing import FakeProvider, Script

KILLS_EACH = 10


@pytest.mark.timeout(240)
@pytest.mark.parametrize("seed", range(5))
def test_a_killed_run_resumes_to_the_same_results_and_pays_for_no_reply_twice(
    seed: int, serve: Callable[..., FakeProvider], folder: Callable[..., Any]
) -> None:
    """Ten kills at random instants of a 300-call run; what is asked twice was in flight, and said to be in doubt."""
    fake = serve(Script(), latency_ms=5)
    evals = folder(fake)
    evals.write(300)
    flags = ("--no-progress", "--no-table", "-j", "10", "--no-cache")
    undisturbed = evals.run("run", *flags)
    assert undisturbed.returncode == 1, undisturbed.stderr
    wanted = evals.trials()
    assert len(wanted) == 300
    draw = random.Random(seed)
    interrupted = 0
    while interrupted < KILLS_EACH:
        shutil.rmtree(evals.path / ".evenhand")
        fake.ledger.clear()
        process = evals.start("run", *flags)
        _wait_until(lambda: fake.ledger.total >= 1)
        time.sleep(draw.uniform(0, 0.25))
        process.kill()
        process.wait()
        before = fake.ledger.total
        resumed = evals.run("resume", "--no-progress", "--no-table")
        assert resumed.returncode == 1, resumed.stderr
        assert evals.trials() == wanted
        said = re.search(r"in doubt: (\d+) call.* at most (\S+)", resumed.stderr)
        in_doubt = int(said[1]) if said else 0
        assert in_doubt <= 10, resumed.stderr
        assert fake.ledger.repeated <= in_doubt, (fake.ledger.repeated, resumed.stderr)
        interrupted += before < 300


def _wait_until(ready: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "nothing was asked"
        time.sleep(0.002)
