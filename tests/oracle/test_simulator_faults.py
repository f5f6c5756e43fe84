"""Mistakes of simulated users in recorded dialogues: found where they were put in, and not where there are none."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path

import pytest
from tests.unit.doors.conversations.seeding import KINDS, Spoken, seeded
from tests.unit.doors.conversations.test_checking import checked, kinds

from evenhand.doors.conversations import TurnChecks, UserContract
from evenhand.doors.conversations.checking import without_stop

# τ-bench, airline, gpt-4o (sierra-research/tau-bench, MIT).
RECORDED = (
    Path(__file__).parents[3] / "shared/data/agents/taubench_gpt4o_airline_even__MIT.jsonl.gz"
)
SEED = 41

# What the recorded users did say wrong, as people find who read them: an address or birthdays that nothing tells them,
# and a goodbye in the middle of what they were to ask for.
REAL = (
    "@gmail.com",
    "@example.com",
    "Date of Birth - 1988-04-10",
    "Actually, never mind. I think that's all for now.",
)


@cache
def dialogues() -> list[Spoken]:
    """The recorded dialogues."""
    if not RECORDED.is_file():
        pytest.skip(f"there are no recorded dialogues at {RECORDED}")
    found: list[Spoken] = []
    for line in gzip.decompress(RECORDED.read_bytes()).splitlines():
        row = json.loads(line)
        task = row["info"]["task"]
        contract = UserContract(task["instruction"], {"user id": task["user_id"]})
        turns = tuple(
            (message["role"], message["content"])
            for message in row["traj"]
            if message["role"] in ("user", "assistant") and message.get("content")
        )
        found.append(Spoken(f"{task['user_id']} {row['trial']}", contract, turns))
    return found


def test_the_turns_of_recorded_users_are_let_pass():
    """686 turns in 100 dialogues. What the users really did wrong is no false alarm."""
    turns, alarms = 0, list[str]()
    for dialogue in dialogues():
        checks = TurnChecks(dialogue.contract)
        for role, text in dialogue.turns:
            if role == "assistant":
                checks.agent_said(text)
                continue
            turns += 1
            said, ends, after = without_stop(text)
            if checks.faults(said, ends=ends, after=after):
                alarms.append(text)
            checks.user_said(said, ends=ends)
    false = [text for text in alarms if not any(real in text for real in REAL)]
    assert turns == 686
    assert len(alarms) <= 0.02 * turns
    assert len(false) <= 0.02 * len(dialogues()), false


@pytest.mark.parametrize("kind", KINDS)
def test_nine_of_ten_mistakes_put_into_recorded_dialogues_are_found(kind: str):
    """50 mistakes of each of 12 kinds, put into random turns; seed 41."""
    chance = random.Random(f"{SEED} {kind}")
    some = [d for d in dialogues() if "French" not in d.contract.goal]
    found = [bool(kinds(seeded(kind, some, chance))) for _ in range(50)]
    assert sum(found) >= 45


def test_checks_of_a_beginning_are_those_of_the_whole():
    """Checks of a beginning are those of the whole."""
    dialogue = dialogues()[0]
    assert checked(dialogue.contract, dialogue.turns[:4]).faults("Thank you, that works.") == []
