"""A conversation as the subject of a set: had first in each trial, and given to evals as `talk`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Conversation, EvalSet, Expect, SimulatedUser, Talk, run
from evenhand.core.encoding import encode
from evenhand.core.errors import ConfigError, UsageError
from evenhand.core.run import TrialResult
from evenhand.render.document import write_document
from evenhand.scorers import Contains, StepCount
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted


def agent(text: str) -> str:
    """Repeats what the user said."""
    return f"You said: {text}"


def tried(evals: EvalSet, home: Path) -> list[TrialResult]:
    """The trials of a set."""
    with run(evals, home=home, progress=False) as done:
        return list(done.trials())


def test_each_trial_has_the_conversation_first(tmp_path: Path):
    """It is the trial's output, and its turns are the trial's steps."""
    evals = EvalSet(
        "shop", data=[{"id": "a"}], repeats=2, subject=Conversation(agent, ["Hi.", "Bye."])
    )

    @evals.eval
    def answers(talk: Talk, expect: Expect) -> None:
        expect(talk, Contains("You said: Bye."))
        expect(expect.steps, StepCount("message"), at_least=4, at_most=4)

    @evals.eval
    def ends(expect: Expect) -> None:
        expect(True, "had without being asked for")

    trials = tried(evals, tmp_path)
    assert [trial.outcome for trial in trials] == ["pass"] * 4
    assert {str(trial.output) for trial in trials} == {
        "User: Hi.\n\nAssistant: You said: Hi.\n\nUser: Bye.\n\nAssistant: You said: Bye."
    }


def test_a_function_makes_it_of_what_it_asks_for(tmp_path: Path):
    """The case, axes and fixtures. A simulator's mistake is an error of that trial alone."""

    async def about(case: Case, tone: str, greeting: str) -> Conversation:
        user = SimulatedUser(
            "You want help.", facts={"order": "7"}, model=Scripted(("How can I help you?",))
        )
        return Conversation(agent, user if case.id == "bad" else [f"{greeting}, {tone}."])

    evals = EvalSet(
        "shop", data=[{"id": "good"}, {"id": "bad"}], over={"tone": ["kindly"]}, subject=about
    )

    @evals.fixture
    def greeting() -> str:
        return "Hello"

    @evals.eval
    def answers(talk: Talk, expect: Expect) -> None:
        expect(talk, Contains("You said: Hello, kindly."))

    good, bad = tried(evals, tmp_path)
    assert good.outcome == "pass"
    assert bad.error is not None
    assert (bad.outcome, bad.error.slug) == ("error", "simulator")


def test_a_scripted_run_is_the_same_twice(tmp_path: Path):
    """But for its id and its times, to the byte."""
    written: list[bytes] = []
    for number in range(2):
        evals = EvalSet(
            "shop", data=[{"id": "a"}, {"id": "b"}], subject=Conversation(agent, ["Hi.", "Bye."])
        )

        @evals.eval
        def answers(talk: Talk, expect: Expect) -> None:
            with expect.step("find_order", {"id": 7}) as step:
                step.result = {"state": "late"}
            expect(talk, Contains("Bye"))

        with (
            run(evals, home=tmp_path / str(number), progress=False) as done,
            RunFile.open(done.path) as file,
        ):
            out = io.StringIO()
            write_document(file, out, calls=True)
        written.append(encode(timeless(json.loads(out.getvalue()))))
    assert written[0] == written[1]
    assert b"find_order" in written[0]


TIMES = frozenset(
    "id created_at finished_at file latency_s started_s duration_s reply_seconds".split()
)


def timeless(value: Any) -> Any:
    """A document without the times and the names of its run."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in TIMES}
    return [timeless(item) for item in value] if isinstance(value, list) else value


def test_what_is_no_subject(tmp_path: Path):
    """It is said when the set is made, or when it is read."""
    with pytest.raises(UsageError, match="write subject=Conversation"):
        EvalSet("shop", subject="talk")

    evals = EvalSet("shop", data=[{"id": "a"}], subject=lambda customer: customer)

    @evals.eval
    def answers(talk: Talk, expect: Expect) -> None:
        expect(True, "never asked")

    with pytest.raises(ConfigError, match="customer"):
        tried(evals, tmp_path)

    evals.subject = lambda case: case.id
    (trial,) = tried(evals, tmp_path)
    assert trial.outcome == "error"
    assert "which is not a conversation" in trial.reason + str(trial.outcomes)
