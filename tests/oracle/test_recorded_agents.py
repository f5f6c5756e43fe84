"""What checks on steps say of recorded agents, against the verdicts that came with the recordings."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from math import comb
from pathlib import Path
from typing import Any

import pytest
from tests.runs import (
    Make,
    result,
)

from evenhand.analysis.summaries.rates import repeats
from evenhand.core.step import Step
from evenhand.render.trial_steps import steps_of
from evenhand.scorers import CallsTool, CallsTools, NeverLoops

FILE = (
    Path(__file__).parents[3] / "shared/data/agents" / "taubench_gpt4o_airline_even__MIT.jsonl.gz"
)
WRITES = frozenset(
    "book_reservation cancel_reservation send_certificate update_reservation_baggages "
    "update_reservation_flights update_reservation_passengers".split()
)

pytestmark = pytest.mark.skipif(not FILE.exists(), reason="the recorded agents are not here")


@pytest.fixture(scope="module")
def recorded() -> list[dict[str, Any]]:
    """100 trials of an airline's agent."""
    with gzip.open(FILE, "rt") as lines:
        return [json.loads(line) for line in lines]


def steps(messages: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    """The recorded messages as steps: what was said, and each call with what it returned."""
    returned = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    for message in messages:
        if message.get("content") and message["role"] in ("user", "assistant"):
            yield Step("message", message["role"], result=message["content"])
        for call in message.get("tool_calls") or ():
            said = returned.get(call["id"])
            arguments = json.loads(call["function"]["arguments"])
            failed = said is None or str(said).startswith("Error")
            status = "error" if failed else "ok"
            yield Step("tool", call["function"]["name"], arguments, said, status, call=call["id"])


def test_the_writing_calls_agree_with_the_recorded_reward(recorded: list[dict[str, Any]]):
    """In 96 of 100: the reward also looks at what was said, and calls that come to the same may differ."""
    agreed = 0
    for row in recorded:
        expected = [
            CallsTool(action["name"], action["kwargs"], exact=True)
            for action in row["info"]["task"]["actions"]
            if action["name"] in WRITES
        ]
        done = [s for s in steps(row["traj"]) if s.name in WRITES and s.status == "ok"]
        score = CallsTools(expected).score(done)
        agreed += bool(score.passed) is (row["reward"] == 1.0)
    assert agreed == 96


async def test_pass_to_the_k_is_what_it_is_by_hand(
    recorded: list[dict[str, Any]],
    make_run: Make,
):
    """pass^1 to pass^4: the mean over tasks of C(passed, k) / C(trials, k).

    And the steps that are read back are those that went in.
    """
    trials = [
        result(
            i,
            ok=row["reward"] == 1.0,
            case=f"task {row['task_id']}",
            repeat=row["trial"],
            steps=tuple(steps(row["traj"])),
        )
        for i, row in enumerate(recorded)
    ]
    run = await make_run(trials, repeats=4)
    tasks: dict[int, list[float]] = {}
    for row in recorded:
        tasks.setdefault(row["task_id"], []).append(row["reward"])
    by_hand = {
        k: sum(comb(int(sum(r)), k) / comb(len(r), k) for r in tasks.values()) / len(tasks)
        for k in range(1, 5)
    }
    ours = {tries.k: tries.always.least for tries in repeats(run)[0].tries}
    assert ours == pytest.approx(by_hand)
    for trial, row in zip(run.trials(), recorded, strict=True):
        assert steps_of(run, trial) == list(steps(row["traj"]))


def test_loops_are_rare_and_named(recorded: list[dict[str, Any]]):
    """An agent of this kind seldom repeats itself; where it does, the steps say so."""
    loops = [NeverLoops().score(list(steps(row["traj"]))) for row in recorded]
    assert sum(not score.passed for score in loops) <= 5
