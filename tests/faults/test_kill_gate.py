"""kill -9 of gates: `resume` ends with the same verdict, and pays for no reply twice."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.faults.conftest import Folder, until

from evenhand.testing import FakeProvider, Rule, Script

SEED = 11
ROWS = 60
GATE = ("gate", "--baseline", "accepted.evn", "--margin", "0.2", "-j", "4", "--no-progress")
WAYS: dict[str, tuple[str, ...]] = {
    "all trials, without the cache": ("--all", "--no-cache"),
    "what has changed": (),
    "until it is decided": ("--no-cache", "--stop-when-decided"),
}


def outcome(document: str) -> dict[str, Any]:
    """What a gate says; of names and times, each run has its own, and so of what was under way when it was decided."""
    gate = json.loads(document)
    kept = ("verdict", "results", "differences", "taken", "cases", "margin", "baseline", "status")
    return {
        key: gate[key] for key in kept if key in gate and not (key == "taken" and gate["stopped"])
    }


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("way", WAYS)
def test_a_killed_gate_is_resumed_to_the_same_verdict_and_pays_for_no_reply_twice(
    way: str, serve: Callable[..., FakeProvider], folder: Callable[..., Folder]
) -> None:
    """Killed twice: once while it runs, once while it is resumed. Also the file of `--to` says what it came to."""
    worse = [Rule(match=(rf"Tell number {i}\d?$",), reply="no") for i in (2, 3)]
    fake = serve(Script([*worse, Rule(reply="a reply")]), latency_ms=20)
    evals = folder(fake)
    tests = [
        {
            "vars": {"n": f"number {i}"},
            "assert": [{"type": "contains", "value": "reply" if i % 5 else "zzz"}],
        }
        for i in range(ROWS)
    ]
    prompts = [{"raw": f"{verb} {{{{n}}}}", "label": verb} for verb in ("Say", "Name")]
    evals.write(0, tests=tests, prompts=prompts)
    evals.run("run", "--no-progress", "--no-table", "-j", "8")
    assert evals.run("baseline", "--to", "accepted.evn").returncode == 0
    prompts[0]["raw"] = "Tell {{n}}"
    evals.write(0, tests=tests, prompts=prompts)

    words = (*GATE, *WAYS[way], "--json", "--to", "gate.json")
    forget(evals.home)
    fake.ledger.clear()
    whole = evals.run(*words)
    assert whole.returncode in (1, 3), whole.stderr
    price = Counter(fake.ledger.counts)
    assert 20 < fake.ledger.total <= 2 * ROWS

    forget(evals.home)
    fake.ledger.clear()
    draw = random.Random(SEED)
    print("seed", SEED)  # noqa: T201 (for whoever looks at a failure)
    doubted: Counter[str] = Counter()
    for command in (words, ("resume", "--no-progress", "--json")):
        answered = fake.ledger.total
        process = evals.start(*command)
        until(lambda least=answered + 8: fake.ledger.total >= least)
        time.sleep(draw.uniform(0, 0.03))
        process.kill()
        process.wait()
        doubted = evals.doubted()
    left = json.loads((evals.path / "gate.json").read_text())
    assert left["verdict"] == "nothing", "what is written before the end says so"
    resumed = evals.run("resume", "--no-progress", "--json")
    assert outcome(resumed.stdout) == outcome(whole.stdout)
    assert resumed.returncode == whole.returncode
    assert outcome((evals.path / "gate.json").read_text()) == outcome(whole.stdout)
    if "--stop-when-decided" in WAYS[way]:
        # Which trials were under way when it was decided is another matter each time: once each, they may be asked.
        price |= Counter(dict.fromkeys(fake.ledger.counts, 1))
    assert fake.ledger.counts - price <= doubted
    if "--all" not in WAYS[way]:
        why, before = (
            [note for note in json.loads(ended.stdout)["notes"] if "not taken" in note]
            for ended in (resumed, whole)
        )
        assert "another request" in why[0]
        if "--stop-when-decided" not in WAYS[way]:
            assert why == before, "for the same reasons as if nothing had happened"


def forget(home: Path) -> None:
    """Deletes the runs and the cache."""
    for path in [*(home / "runs").glob("*"), *(home / "cache").glob("*")]:
        path.unlink()
