"""kill -9 at any moment: nothing that was received is lost, nothing that was received is paid for again."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.faults.conftest import Folder, settled, until

from evenhand.testing import FakeProvider, Rule, Script

KILLS_EACH = int(os.environ.get("KILLS", "2"))
CALLS = 300
CONCURRENCY = 10
QUIET = ("--no-progress", "--no-table")
MODEL = {"id": "openai:chat:gpt-4o-mini", "config": {"cost": 0.0001, "max_tokens": 50}}
JUDGE = {**MODEL, "id": "openai:chat:judge"}
RUBRIC = {"type": "llm-rubric", "value": "is a reply", "provider": JUDGE}


@dataclass
class Shape:
    """A run of 300 calls."""

    rows: int = CALLS
    trials: int = CALLS
    flags: tuple[str, ...] = ("--no-cache",)
    config: dict[str, Any] = field(default_factory=dict)
    verdict: Any = field(default_factory=lambda: {"reason": "so", "pass": True, "score": 1})
    """What the judge replies."""


SHAPES = {
    "plain": Shape(),
    "with the cache": Shape(flags=()),
    "repeated and sampled": Shape(
        rows=150,
        flags=("--repeat", "2"),
        config={"providers": [{**MODEL, "config": {**MODEL["config"], "temperature": 1}}]},
    ),
    "judged": Shape(rows=150, trials=150, config={"defaultTest": {"assert": [RUBRIC]}}),
    "compared": Shape(
        rows=100,
        trials=200,
        config={
            "providers": [MODEL, {**MODEL, "id": "openai:chat:gpt-4o"}],
            "defaultTest": {"assert": [{**RUBRIC, "type": "select-best"}, {"type": "max-score"}]},
        },
        verdict="1",
    ),
}


@pytest.mark.thorough(after=2)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SHAPES)
def test_a_killed_run_resumes_to_the_same_results_and_pays_for_no_reply_twice(
    name: str, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Two kills, or KILLS, at random instants of a 300-call run, every second resume killed as well.

    What is asked twice was in flight at a kill, and is reported as in doubt, with the most that it can have cost.
    """
    shape = SHAPES[name]
    judge = Rule(model="judge", reply=shape.verdict)
    fake = serve(Script([judge]), latency_ms=5)
    evals = folder(fake)
    evals.write(shape.rows, **{"providers": [MODEL], **shape.config})
    start = ("run", *QUIET, "-j", str(CONCURRENCY), *shape.flags)
    first = evals.start(*start, "--json")
    until(lambda: fake.ledger.total >= 1)
    begun = time.monotonic()
    out, err = first.communicate(timeout=200)
    lasting = time.monotonic() - begun
    assert first.returncode == 1, err
    wanted = settled(json.loads(out))
    price = Counter(fake.ledger.counts)
    assert (len(wanted), price.total()) == (shape.trials, CALLS)

    draw = random.Random(name)
    killed = 0
    while killed < KILLS_EACH:
        shutil.rmtree(evals.home)
        fake.ledger.clear()
        process = evals.start(*start)
        until(lambda: fake.ledger.total >= 1)
        time.sleep(draw.uniform(0, lasting))
        if process.poll() is not None:  # over before the kill
            continue
        process.kill()
        process.wait()
        killed += 1
        kills = 1
        if killed % 2 == 0:
            again = evals.start("resume", *QUIET)
            time.sleep(draw.uniform(0.2, 0.2 + lasting))
            again.kill()
            again.wait()
            kills = 2
        resumed = evals.run("resume", *QUIET, "--json")
        assert resumed.returncode == 1, resumed.stderr
        document = json.loads(resumed.stdout)
        assert settled(document) == wanted
        assert document["run"]["status"] == "finished"
        paid_again = fake.ledger.counts - price
        doubted = evals.doubted()
        assert paid_again <= doubted, (paid_again, doubted)
        assert doubted.total() <= kills * CONCURRENCY
        said = re.search(r"in doubt: (\d+) calls? .* at most (\$[\d.]+)", resumed.stderr)
        assert (int(said[1]) if said else 0) == doubted.total(), resumed.stderr


@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("cold")
def test_a_run_killed_while_it_starts_leaves_nothing_behind_that_stops_the_next(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Before its file is there, while it is being made, before the first call: four instants."""
    fake = serve(Script(), latency_ms=5)
    evals = folder(fake)
    evals.write(20)
    started = time.monotonic()
    whole = evals.run("run", *QUIET, "--no-cache")
    lasting = time.monotonic() - started
    assert whole.returncode == 1, whole.stderr
    wanted = settled(evals.document())
    shutil.rmtree(evals.home)
    for i in range(0, 8, 2):
        process = evals.start("run", *QUIET, "--no-cache")
        time.sleep(lasting * (i + 3) / 12)
        process.kill()
        process.wait()
        resumed = evals.run("resume", *QUIET)
        assert resumed.returncode in (1, 2, 3), resumed.stderr
        after = evals.run("run", *QUIET, "--no-cache", "--json")
        assert after.returncode == 1, after.stderr
        assert settled(json.loads(after.stdout)) == wanted
    assert evals.run("runs", "list").returncode == 0


def test_code_that_takes_the_process_down_is_named_on_resume(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """A grader that aborts: its trial is set aside and names it, the others go on, nothing is asked twice."""
    fake = serve(Script())
    evals = folder(fake)
    lines = (
        "import os",
        "def get_assert(output, context):",
        "    if 'DIE' in os.environ:",
        "        os.abort()",
        "    return True",
    )
    (evals.path / "grader.py").write_text("\n".join(lines))
    evals.write(3, defaultTest={"assert": [{"type": "python", "value": "file://grader.py"}]})
    died = evals.run("run", *QUIET, "--no-cache", "-j", "1", env={"DIE": "1"})
    assert died.returncode == -signal.SIGABRT
    resumed = evals.run("resume", *QUIET)
    assert resumed.returncode == 3, resumed.stderr
    assert "died while running grader.py:get_assert" in resumed.stderr
    assert (fake.ledger.total, fake.ledger.repeated) == (3, 0)
