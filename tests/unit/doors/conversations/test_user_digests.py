"""A conversation with another user is another test: runs are compared where the same one spoke."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from evenhand import (
    Case,
    Conversation,
    EvalSet,
    Expect,
    SimulatedUser,
    StatefulUser,
    compare,
    run,
)
from evenhand.analysis.comparison.case_content import compared_parts
from evenhand.core.record import Record


def plays(messages: list[Any]) -> str:
    """Plays the user."""
    return "I want my money back." if len(messages) < 3 else "Bye ###STOP###"


def plays_well(messages: list[Any]) -> str:
    """Plays the user, and is polite."""
    return "I want my money back, please." if len(messages) < 3 else "Bye ###STOP###"


def asks(agent: str) -> Any:
    """A first state."""
    return "Money back!", None


def begs(agent: str) -> Any:
    """Another first state."""
    return "Money back, please!", None


def simulated(**more: Any) -> SimulatedUser:
    """A user whom a function plays."""
    return SimulatedUser(**{"goal": "You want your money back.", "model": plays, **more})


def compared(home: Path, *users: Any, **more: Any) -> list[str]:
    """What a comparison says of two runs, with one user and another."""
    files: list[Path] = []
    for user in users:
        data = [{"id": str(n), "input": f"order {n}"} for n in range(6)]
        evals = EvalSet("shop", data=data)

        @evals.eval
        async def talks(case: Case, expect: Expect, user: Any = user) -> None:
            options = more if user is users[-1] else {}
            talk = await Conversation(lambda text: text, user(case), **options).run()
            expect("please" in talk.answer, "polite")

        with run(evals, home=home) as found:
            files.append(found.path)
    return [row["verdict"] for row in compare(*files, metric="passed").summary_rows()]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda _: ["Money!"], lambda _: ["Money, please!"]),
        (
            lambda _: lambda talk: None if talk.turns else "Hi",
            lambda _: lambda talk: None if talk.turns else "Yo",
        ),
        (lambda _: StatefulUser(asks), lambda _: StatefulUser(begs)),
        (lambda _: simulated(), lambda _: simulated(goal="You want your money back. Say please.")),
        (lambda _: simulated(), lambda _: simulated(persona="polite")),
        (lambda _: simulated(), lambda _: simulated(never_says=["lawyer"])),
        (lambda _: simulated(), lambda _: simulated(facts={"order": "7"})),
        (lambda _: simulated(), lambda _: simulated(model=plays_well)),
        (lambda case: [case.input], lambda _: simulated()),
    ],
)
def test_another_user_is_another_test(
    one: Callable[[Case], Any], other: Callable[[Case], Any], tmp_path: Path
):
    """Another user is another test: nothing is said of the difference."""
    assert compared(tmp_path, one, other) == ["undecided"]


@pytest.mark.parametrize("options", [{"max_turns": 3}, {"start": [("assistant", "Hi!")]}])
def test_other_terms_of_the_conversation_are_another_test(options: dict[str, Any], tmp_path: Path):
    """Other terms of the conversation are another test."""
    assert compared(tmp_path, lambda _: simulated(), lambda _: simulated(), **options) == [
        "undecided"
    ]


def test_the_same_user_is_compared_whatever_number_a_fixture_gave_it(tmp_path: Path):
    """The same user is compared, whatever number a fixture gave it for this trial."""
    numbers = iter(range(100))

    def user(_: Case) -> SimulatedUser:
        return simulated(facts={"order": str(next(numbers))})

    assert compared(tmp_path, user, user) == ["no detectable difference"]


class Column(Record, frozen=True):
    """What a column's cases say."""

    parts: Collection[str]
    recorded: bool = True


def test_runs_that_do_not_say_who_played_the_user_are_compared():
    """Runs that don't say who played the user, or under which Python, are compared as before."""
    before, now = Column(("vars",)), Column(("vars", "user", "user 3.11"))
    assert "user" not in [*compared_parts(before, now), *compared_parts(now, before)]
    other = Column(("vars", "user", "user 3.12"))
    assert [part for part in compared_parts(now, other) if "user" in part] == ["user"]
    assert [part for part in compared_parts(now, now) if "user" in part] == ["user", "user 3.11"]
