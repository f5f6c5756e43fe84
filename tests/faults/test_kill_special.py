"""kill -9 of commands with a report of their own: `resume` ends as they would have, and pays for no reply twice."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable

import pytest
from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider, Rule, Script

SEED = 5
SKILL = (
    "skill",
    "s",
    *("--model", "openai:chat:gpt-4o-mini", "--judge", "openai:chat:judge"),
    *("--repeat", "1", "-j", "4", "--no-progress", "--no-cache", "--json"),
)


def passed(document: str) -> tuple[object, ...]:
    """What a report says of passes; of times, each run has its own."""
    report = json.loads(document)
    return report["verdict"], report["tasks"], report["comparison"]["results"]


@pytest.mark.thorough
def test_a_killed_run_of_a_skill_is_resumed_from_anywhere_to_the_same_report(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """One kill after some answers; before that, the same command says how to go on, and starts anew."""
    verdict = {"reasoning": "so", "confidence": 0.9, "passes": True}
    fake = serve(Script([Rule(model="judge", reply=verdict)]), latency_ms=20)
    evals = folder(fake)
    (evals.path / "s" / "evals").mkdir(parents=True)
    (evals.path / "s" / "SKILL.md").write_text("---\nname: s\ndescription: d\n---\nBe brief.\n")
    tasks = [{"id": i, "prompt": f"task {i}", "assertions": ["is a reply"]} for i in range(30)]
    (evals.path / "s" / "evals" / "evals.json").write_text(json.dumps({"evals": tasks}))
    whole = evals.run(*SKILL)
    wanted = passed(whole.stdout)
    assert fake.ledger.total == 120
    assert "was killed" not in whole.stderr

    price = Counter(fake.ledger.counts)
    fake.ledger.clear()
    for path in (evals.home / "runs").iterdir():
        path.unlink()
    draw = random.Random(SEED)
    print("seed", SEED)  # noqa: T201 (for whoever looks at a failure)
    process = evals.start(*SKILL)
    until(lambda: fake.ledger.total >= 10)
    time.sleep(draw.uniform(0, 0.05))
    process.kill()
    process.wait()
    doubted = evals.doubted()
    resumed = evals.run("resume", "--no-progress", "--json")
    assert passed(resumed.stdout) == wanted
    assert resumed.returncode == whole.returncode
    assert fake.ledger.counts - price <= doubted


def test_the_next_start_after_a_kill_says_how_to_go_on_with_the_killed_run(
    serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Only of the same plan, and only until the next run is there."""
    fake = serve(latency_ms=20)
    evals = folder(fake)
    evals.write(40)
    start = ("run", "--no-progress", "--no-table", "--no-cache")
    process = evals.start(*start)
    until(lambda: fake.ledger.total >= 1)
    process.kill()
    process.wait()
    (killed,) = (evals.home / "runs").glob("*.db")
    told = evals.run(*start).stderr
    assert "was killed before its end" in told
    assert f"evenhand resume {killed.stem[:8]}" in told
    assert "was killed" not in evals.run(*start).stderr
