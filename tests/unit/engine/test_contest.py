"""Contests: the trials of a case compared with each other, held back, stored together, and held again on resume."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.contest import Unsettled, winner_stays
from evenhand.core.errors import AuthError, JudgeError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.plan import Plan
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, Score, Verdict, check
from evenhand.core.variant import Variant
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example

THREE = tuple(Variant(i, name, "m") for i, name in enumerate("abc"))


class Longest:
    """The longest output wins; says of each call who took part."""

    def __init__(self, model: Any = None) -> None:
        self.model = model
        self.seen: list[list[Any]] = []

    async def compare(self, contestants: Sequence[TrialResult], trial: Trial) -> Sequence[Score]:
        self.seen.append([c.output for c in contestants])
        if self.model is not None:
            prompt = " | ".join(str(c.output) for c in contestants)
            await trial.model(self.model, "judge").generate(prompt)
        best = max(len(str(c.output)) for c in contestants)
        return [check(len(str(c.output)) == best, "longest?") for c in contestants]

    def __str__(self) -> str:
        return "longest"


class Fails:
    """A referee that raises, or returns, what it is told."""

    def __init__(self, result: Any) -> None:
        self.result = result

    async def compare(self, contestants: Sequence[TrialResult], trial: Trial) -> Any:
        if isinstance(self.result, BaseException):
            raise self.result
        return self.result

    def __str__(self) -> str:
        return "fails"


def answering(answers: dict[int, Any]):
    """A body that answers by its column: what is an exception is raised; the last column is the quickest."""

    async def body(trial: Trial) -> object:
        await asyncio.sleep(0.003 * (3 - trial.variant.index))
        answer = answers[trial.variant.index]
        if isinstance(answer, BaseException):
            raise answer
        return f"{answer}{trial.case.vars['n']}"

    return body


async def ran(plan: Plan, home: Path, **more: Any) -> tuple[Path, list[TrialResult]]:
    """The file of a run of this plan, and its results."""
    finished = await door.settle(plan, Settings(home=home, cache=False), **more)
    with RunFile.open(finished.path) as run:
        return finished.path, list(run.trials())


@pytest.mark.parametrize("jobs", [1, 4])
async def test_a_case_is_compared_once_all_its_columns_are_done(tmp_path: Path, jobs: int):
    """Repeat by repeat, in the plan's order of columns, whoever is done first."""
    referee = Longest()
    plan = example(
        2,
        answering({0: "x", 1: "xxx", 2: "xx"}),
        variants=THREE,
        repeats=2,
        referees=[referee],
    )
    finished = await door.settle(plan, Settings(home=tmp_path, concurrency=jobs))
    with RunFile.open(finished.path) as run:
        trials = list(run.trials())
    assert sorted(referee.seen) == [["x0", "xxx0", "xx0"]] * 2 + [["x1", "xxx1", "xx1"]] * 2
    assert [t.index for t in trials] == list(range(12))
    assert [t.outcome for t in trials] == ["fail", "pass", "fail"] * 4
    assert [(t.score, t.before and t.before.outcome) for t in trials[:2]] == [
        (0, "pass"),
        (1, "pass"),
    ]
    assert [o.name for o in trials[0].outcomes] == ["longest"]


class Shortest:
    """The shortest output wins."""

    async def compare(self, contestants: Sequence[TrialResult], trial: Trial) -> Sequence[Score]:
        least = min(len(str(c.output)) for c in contestants)
        return [check(len(str(c.output)) == least, "shortest?") for c in contestants]


async def test_what_compares_has_one_label_in_every_run(tmp_path: Path):
    """Python's own text of an object has its address in it: no two runs would have expected the same."""
    plan = example(1, answering({0: "x", 1: "xx"}), variants=THREE[:2], referees=[Shortest()])
    _, trials = await ran(plan, tmp_path)
    assert [[o.name for o in t.outcomes] for t in trials] == [["Shortest"]] * 2


async def test_outcomes_of_a_contest_stand_after_a_trials_own(tmp_path: Path):
    """Who failed before stays failed when it wins."""

    async def body(trial: Trial) -> object:
        trial.expect(Expectation("", _Says(check(trial.variant.index == 0, "own"))))
        return "x" * trial.variant.index

    plan = example(1, body, variants=THREE[:2], referees=[Longest()])
    _, trials = await ran(plan, tmp_path)
    assert [[o.name for o in t.outcomes] for t in trials] == [["own", "longest"]] * 2
    assert [(t.outcome, t.reason) for t in trials] == [("fail", "longest?"), ("fail", "own")]


class _Says:
    def __init__(self, score: Score) -> None:
        self._score = score

    def score(self, output: Any, trial: Trial) -> Score:
        return self._score

    def __str__(self) -> str:
        return "own"


async def test_a_column_without_an_output_is_no_contestant(tmp_path: Path):
    """It is an error, with no outcome; the others are compared without it."""
    referee = Longest()
    plan = example(
        1, answering({0: "x", 1: ValueError("boom"), 2: "xx"}), variants=THREE, referees=[referee]
    )
    _, trials = await ran(plan, tmp_path)
    assert referee.seen == [["x0", "xx0"]]
    assert [t.outcome for t in trials] == ["fail", "error", "pass"]
    assert trials[1].outcomes == ()
    assert trials[1].error is not None
    assert trials[1].error.message == "ValueError: boom"


@pytest.mark.parametrize(("columns", "said"), [(1, "there is one"), (3, "have no output")])
async def test_one_output_alone_is_an_error_and_the_run_goes_on(
    tmp_path: Path, columns: int, said: str
):
    """Nobody to compare it with: no verdict."""
    broken = ValueError("boom")
    plan = example(
        2,
        answering({0: "x", 1: broken, 2: broken}),
        variants=THREE[:columns],
        referees=[Longest()],
    )
    _, trials = await ran(plan, tmp_path)
    assert len(trials) == 2 * columns
    assert {t.outcome for t in trials} == {"error"}
    assert said in trials[0].reason
    assert trials[0].outcomes[0].error == "score"
    assert trials[0].before == Verdict("pass", None)


@pytest.mark.parametrize(
    ("result", "slug"),
    [
        (JudgeError("mumbled"), "judge"),
        (KeyError("k"), "code"),
        ([check(True)], "code"),
        ([1, 2], "code"),
    ],
)
async def test_a_referee_that_fails_is_an_error_for_all(tmp_path: Path, result: Any, slug: str):
    """Never a loss."""
    plan = example(
        1, answering({0: "x", 1: "y"}), variants=THREE[:2], referees=[Fails(result), Longest()]
    )
    _, trials = await ran(plan, tmp_path)
    assert [[(o.outcome, o.error) for o in t.outcomes] for t in trials] == [
        [("error", slug), ("pass", "")]
    ] * 2
    assert [(t.outcome, t.score) for t in trials] == [("error", None)] * 2


async def test_a_judge_that_can_never_answer_stops_the_run_and_resume_holds_the_contest(
    tmp_path: Path,
):
    """Nothing of the case is stored before; what its models said is not asked again."""
    model = Scripted({"q0": "one", "q1": "three"}, id="m", cost_usd=0.01)

    async def body(trial: Trial) -> object:
        return (await trial.model(model, "subject").generate(f"q{trial.variant.index}")).text

    plan = example(1, body, variants=THREE[:2], referees=[Fails(AuthError("no key"))])
    finished = await door.settle(plan, Settings(home=tmp_path, cache=False))
    with RunFile.open(finished.path) as run:
        assert list(run.trials()) == []
    assert finished.ending.status == "stopped"
    plan = example(1, body, variants=THREE[:2], referees=[Longest()])
    _, trials = await ran(plan, tmp_path, resume=finished.path)
    assert sorted((t.output, t.outcome) for t in trials) == [("one", "fail"), ("three", "pass")]
    assert len(model.asked) == 2


async def test_a_column_that_answers_on_resume_is_compared_with_what_the_others_said(
    tmp_path: Path,
):
    """Their trials are not run again; their contest is held again, and what it says of them is stored."""
    answers: dict[int, Any] = {0: "x", 1: "xx", 2: ValueError("down")}
    judge = Scripted(["-"] * 9, id="judge", cost_usd=0.5)
    referee = Longest(judge)
    plan = example(1, answering(answers), variants=THREE, referees=[referee])
    path, first = await ran(plan, tmp_path)
    assert [t.outcome for t in first] == ["fail", "pass", "error"]
    answers.update({0: ValueError("not asked again"), 2: "xxx"})
    _, trials = await ran(plan, tmp_path, resume=path)
    assert [t.outcome for t in trials] == ["fail", "fail", "pass"]
    assert referee.seen == [["x0", "xx0"], ["x0", "xx0", "xxx0"]]
    assert [len(t.outcomes) for t in trials] == [1, 1, 1]
    assert [t.before.outcome for t in trials if t.before] == ["pass"] * 3
    assert len(judge.asked) == 2


async def test_a_column_that_fails_again_on_resume_changes_nothing_and_asks_nobody(tmp_path: Path):
    """The contest of the others stands."""
    answers: dict[int, Any] = {0: "x", 1: ValueError("down"), 2: "xxx"}
    judge = Scripted(["-"] * 9, id="judge", cost_usd=0.5)
    plan = example(1, answering(answers), variants=THREE, referees=[Longest(judge)])
    path, first = await ran(plan, tmp_path)
    _, second = await ran(plan, tmp_path, resume=path)
    assert [t.outcome for t in first] == [t.outcome for t in second] == ["fail", "error", "pass"]
    assert len(judge.asked) == 1


async def test_the_calls_of_a_contest_are_counted_under_its_last_trial(tmp_path: Path):
    """Once, with what they cost."""
    judge = Scripted(["-"] * 9, id="judge", cost_usd=0.5)
    plan = example(
        1, answering({0: "x", 1: "xx", 2: "x"}), variants=THREE, referees=[Longest(judge)]
    )
    path, trials = await ran(plan, tmp_path)
    assert [(t.calls, t.cost_usd) for t in trials] == [(0, 0), (0, 0), (1, 0.5)]
    with RunFile.open(path) as run:
        assert [call.start.trial for call in run.calls()] == [2]


@pytest.mark.parametrize(
    ("before", "outcomes", "after"),
    [
        (Verdict("pass", 0.5, "so"), ["pass", "pass"], Verdict("pass", 0.5, "0")),
        (Verdict("pass", 0.5, "so"), ["pass", "fail"], Verdict("fail", 0.0, "1")),
        (Verdict("pass", 0.5, "so"), ["error", "pass"], Verdict("error", None, "0")),
        (Verdict("pass", 0.5, "so"), ["error", "fail"], Verdict("fail", 0.0, "1")),
        (Verdict("fail", 0.2, "so"), ["error"], Verdict("fail", 0.2, "so")),
        (Verdict("fail", 0.2, "so"), ["pass"], Verdict("fail", 0.2, "so")),
        (Verdict("error", None, "so"), ["pass"], Verdict("error", None, "so")),
        (Verdict("error", None, "so"), ["fail"], Verdict("fail", 0.0, "0")),
        (Verdict("pass", 1.0, "so"), ["not_applicable"], Verdict("pass", 1.0, "so")),
    ],
)
def test_who_loses_fails_and_who_wins_stays_as_it_was(
    before: Verdict, outcomes: list[Any], after: Verdict
):
    """A contest turns no failure into a pass, and no error into a score."""
    told = [Outcome("r", state, None, reason=str(i)) for i, state in enumerate(outcomes)]
    assert winner_stays(before, told) == after


async def test_a_referee_may_have_a_score_of_one_contestant_and_none_of_another(tmp_path: Path):
    """Who has none is in error, with what the referee keeps; the others have their scores."""
    why = JudgeError("no verdict", hint="Ask again.")
    referee = Fails([check(True), Unsettled(why, {"asked": 2}), check(False, "worse")])
    plan = example(1, answering({0: "x", 1: "y", 2: "z"}), variants=THREE, referees=[referee])
    _, trials = await ran(plan, tmp_path)
    assert [t.outcome for t in trials] == ["pass", "error", "fail"]
    (outcome,) = trials[1].outcomes
    assert (outcome.name, outcome.error, outcome.reason) == ("fails", "judge", "no verdict")
    assert (outcome.hint, outcome.metadata, outcome.score) == ("Ask again.", {"asked": 2}, None)
