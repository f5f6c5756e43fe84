"""The latency of a call is its server's, whatever else this machine was doing meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evenhand.render.run_warnings import LONG_WAIT_S, _waited
from evenhand.store.runfile import RunFile
from evenhand.testing import BatchRules, FakeProvider, Rule, Script

COMMAND = [sys.executable, "-c", "from evenhand.cli import main; main()"]

HELD_UP = """
import time

async def call_api(prompt, options, context):
    time.sleep(0.02)
    return {"output": prompt}
"""


def run(folder: Path, config: dict[str, Any], fake: FakeProvider, *args: str) -> str:
    """Runs a config; what it printed."""
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    done = subprocess.run(
        [*COMMAND, "run", "--no-progress", "--no-cache", *args],
        cwd=folder,
        env={**os.environ, **fake.env(), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def subject_calls(folder: Path) -> list[Any]:
    """The ends of the calls over the network of the only run."""
    (path,) = (folder / ".evenhand" / "runs").glob("*.db")
    with RunFile.open(path) as file:
        return [call.end for call in file.calls() if call.start.provider.startswith("openai")]


def test_an_answer_that_had_to_wait_here_is_not_called_slow(tmp_path: Path):
    """Forty answers are here after .1 s, while another column's code keeps the loop busy for more than that."""
    (tmp_path / "busy.py").write_text(HELD_UP)
    config = {
        "prompts": ["say {{n}}"],
        "providers": ["openai:gpt-4o", "file://busy.py"],
        "tests": [{"vars": {"n": str(i)}} for i in range(40)],
        "defaultTest": {"assert": [{"type": "contains", "value": "say"}]},
    }
    with FakeProvider(Script([Rule((), "say 0 1 2 3 4 5 6 7 8 9", latency_ms=100)], "")) as fake:
        printed = run(tmp_path, config, fake, "-j", "40")
    ends = subject_calls(tmp_path)
    assert len(ends) == 40
    for end in ends:
        assert end.first_byte_s is not None
        assert 0.06 <= end.first_byte_s <= end.latency_s
        assert end.queued_s >= 0
    waited = sum(end.queued_s for end in ends)
    is_long = waited >= max(40 * LONG_WAIT_S, sum(end.latency_s for end in ends) / 10)
    assert ("on this machine on average" in " ".join(printed.split())) == is_long


class Waits:
    """A run whose answers waited for so long."""

    def __init__(self, answers: int, waited_s: float, took_s: float) -> None:
        self.waits = lambda: (answers, waited_s, took_s)


@pytest.mark.parametrize(
    ("waits", "is_told"),
    [
        (Waits(0, 0.0, 0.0), False),
        (Waits(10, 0.4, 1.0), False),  # 40 ms each
        (Waits(10, 0.9, 10.0), False),  # less than a tenth
        (Waits(10, 1.1, 10.0), True),
        (Waits(10, 5.0, 0.1), True),
    ],
)
def test_a_wait_is_told_where_it_is_long_and_more_than_a_tenth(waits: Any, is_told: bool):
    """With both means, and what to do."""
    lines = _waited(waits)
    assert bool(lines) == is_told
    assert all("latencies exclude the wait" in line and "-j" in line for line in lines)


def test_a_trial_shows_when_its_answer_began_and_how_long_it_waited(tmp_path: Path):
    """In the document of the run, beside the latency."""
    config = {"prompts": ["say hi"], "providers": ["openai:gpt-4o"]}
    with FakeProvider(Script([Rule((), "hi", latency_ms=50)], "")) as fake:
        run(tmp_path, config, fake)
        shown = subprocess.run(
            [*COMMAND, "show", "--json", "--calls"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
    (trial,) = json.loads(shown.stdout)["trials"]
    (call,) = trial["calls"]
    assert 0.03 <= call["first_byte_s"] <= call["latency_s"]
    assert call["queued_s"] >= 0


def verdicts(folder: Path, fake: FakeProvider, *args: str) -> list[str]:
    """What a run says of the expectations of its trials."""
    done = subprocess.run(
        [*COMMAND, *args, "--json", "--no-progress"],
        cwd=folder,
        env={**os.environ, **fake.env(), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, 1, 3), done.stdout + done.stderr
    trials = json.loads(done.stdout)["trials"]
    return [outcome["outcome"] for trial in trials for outcome in trial["outcomes"]]


def test_when_an_answer_began_is_known_wherever_it_comes_from(tmp_path: Path):
    """A bound that is missed by the answer is missed by it from the cache, a cassette and an earlier run as well."""
    config = {
        "prompts": ["say {{n}}"],
        "providers": ["openai:gpt-4o"],
        "tests": [{"vars": {"n": str(i)}} for i in range(3)],
        "defaultTest": {
            "assert": [
                {"type": "first-token", "threshold": 0.001},
                {"type": "latency", "threshold": 1},
                {"type": "contains", "value": "say"},
            ]
        },
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    script = Script([Rule(reply=lambda text: text, latency_ms=60)])
    with FakeProvider(script) as fake:
        asked = verdicts(tmp_path, fake, "run")
        assert asked == ["fail", "fail", "pass"] * 3
        assert verdicts(tmp_path, fake, "run") == asked
        assert verdicts(tmp_path, fake, "run", "--workers", "2") == asked
        assert verdicts(tmp_path, fake, "run", "--replay", "latest") == asked
        command = [*COMMAND, "runs", "cassette", "latest", "--to", "c.cas"]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
        assert verdicts(tmp_path, fake, "run", "--replay", "c.cas") == asked
        assert fake.ledger.total == 3


def test_a_run_in_which_nobody_measured_time_is_not_better_for_it(tmp_path: Path):
    """A bound that was missed by live answers is an error in a batch: no verdict rests on that."""
    config = {
        "prompts": ["say {{n}}"],
        "providers": ["openai:chat:gpt-4o-mini"],
        "tests": [{"vars": {"n": str(i)}} for i in range(8)],
        "defaultTest": {
            "assert": [
                {"type": "latency", "threshold": 1},
                {"type": "first-token", "threshold": 0.001},
                {"type": "contains", "value": "say"},
            ]
        },
    }
    (tmp_path / "promptfooconfig.json").write_text(json.dumps(config))
    script = Script([Rule(reply=lambda text: text, latency_ms=30)])
    with FakeProvider(script, batches=BatchRules(takes_s=60, speed=36_000)) as fake:
        assert verdicts(tmp_path, fake, "run") == ["fail", "fail", "pass"] * 8
        batch = verdicts(tmp_path, fake, "run", "--no-cache", "--batch", "--batch-poll", "0.02")
        assert batch == ["error", "error", "pass"] * 8
    done = subprocess.run(
        [*COMMAND, "compare", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (passed,) = json.loads(done.stdout)["results"]
    assert passed["verdict"] == "undecided"
