"""What can't be had is left, and nothing else: one model, one account or some cases never end a run for the others."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.core.errors import (
    AuthError,
    BadReply,
    ConnectionFailed,
    Overloaded,
    QuotaExhausted,
    RateLimited,
    TimedOut,
    UnknownModel,
)
from evenhand.core.expect import Expectation, all_pass
from evenhand.core.plan import Plan, Row, RunOptions, Sheet, Slot
from evenhand.core.score import check
from evenhand.core.variant import Variant
from evenhand.engine import agenda, door
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example


class First:
    """A referee that prefers the first output."""

    def __str__(self) -> str:
        return "first"

    async def compare(self, contestants, trial):
        return [check(place == 0) for place in range(len(contestants))]


VARIANTS = tuple(Variant(i, f"model {i}", f"model {i}") for i in range(4))
FATAL = [
    AuthError("401"),
    QuotaExhausted("402"),
    UnknownModel("404"),
    RateLimited("429", retry_after_s=86_400.0),
    Overloaded("503", retry_after_s=86_400.0),
]
TRANSIENT = [
    Overloaded("answered 500"),
    Overloaded("answered 503"),
    TimedOut("no answer in time"),
    BadReply("half a document"),
    ConnectionFailed("cut off"),
]


@pytest.fixture
def quick(monkeypatch):
    """Failures come as often as in a long run, without its pauses."""
    monkeypatch.setattr("evenhand.engine.rate_limits.PATIENCE_S", 0.0)
    monkeypatch.setattr("evenhand.engine.rate_limits.SILENCE_S", 0.0)
    monkeypatch.setattr("evenhand.engine.opening.PAUSE_S", 0.0)
    monkeypatch.setattr(
        "evenhand.engine.retry_pauses.RetryPolicy._jittered", lambda self, attempts, draw: 0.0
    )


async def results(plan, folder, resume=None, **settings):
    """How a run ended, and what it has of each trial."""
    finished = await door.settle(plan, door.Settings(home=folder, **settings), resume=resume)
    with RunFile.open(finished.path) as run:
        return finished, {trial.index: trial for trial in run.trials()}


def answered_but_for(cases, error):
    """A model that always fails on these cases."""

    def reply(prompt):
        return error if int(prompt.text) in cases else "yes"

    return Scripted(reply)


def asking_for(model):
    """A body that asks the model that this function chooses for its trial."""

    async def body(trial):
        return (await trial.model(model(trial), "subject").generate(str(trial.case.vars["n"]))).text

    return body


@pytest.mark.thorough(after=5)
@pytest.mark.parametrize("error", FATAL, ids=str)
@pytest.mark.parametrize("account", ["one account each", "one account"])
@pytest.mark.parametrize("concurrency", [1, 10])
async def test_one_dead_model_leaves_its_own_trials_and_no_others(
    tmp_path, error, account, concurrency
):
    """Its trials are run on resume; those of the other three have results, and nothing is in doubt."""
    dead = Scripted([error], id="dead", account="dead")
    own = account == "one account each" or error.retry_after_s is not None
    models = [
        dead,
        *(Scripted(id=f"m{i}", account=f"a{i}" if own else "dead") for i in range(1, 4)),
    ]
    plan = example(12, asking_for(lambda trial: models[trial.variant.index]), variants=VARIANTS)
    finished, trials = await results(plan, tmp_path, concurrency=concurrency)
    assert finished.ending.status == "stopped"
    assert error.message in finished.ending.message
    assert {trial.variant for trial in trials.values()} == {1, 2, 3}
    assert len(trials) == 36
    assert len(dead.asked) <= concurrency
    with RunFile.open(finished.path) as file:
        assert file.in_doubt() == []
    dead.replies = ["yes"]
    again, trials = await results(plan, tmp_path, finished.path)
    assert again.ending.status == "finished"
    assert len(trials) == 48
    assert [len(model.asked) for model in models[1:]] == [12, 12, 12]


@pytest.mark.parametrize("in_turn", [True, False])
async def test_an_eval_that_chooses_its_model_by_case_loses_the_cases_of_the_dead_one(
    tmp_path, in_turn
):
    """One variant, three vendors: in turn, or one after the other."""
    models = [
        Scripted([QuotaExhausted("402")], id="dead", account="d"),
        Scripted(id="b", account="b"),
        Scripted(id="c", account="c"),
    ]

    def model(trial):
        n = trial.case.vars["n"]
        return models[n % 3 if in_turn else n // 10]

    finished, trials = await results(example(30, asking_for(model)), tmp_path, concurrency=2)
    assert len(trials) == 20
    assert finished.ending.status == "stopped"


async def test_a_dead_judge_leaves_the_trials_that_need_it(tmp_path):
    """The others are judged by nobody, or by one that answers."""
    judges = {0: Scripted([AuthError("no key")], id="j0", account="j0"), 1: Scripted(id="j1")}

    class Asks:
        def __init__(self, judge) -> None:
            self.judge = judge

        async def score(self, output, trial):
            return check((await trial.model(self.judge, "judge").generate("good?")).text == "yes")

    async def body(trial):
        n = trial.case.vars["n"]
        if n % 3 in judges:
            trial.expect(Expectation("x", Asks(judges[n % 3])))
        return "x"

    _, trials = await results(example(30, body), tmp_path)
    assert sorted(trials) == [n for n in range(30) if n % 3]


async def test_a_variant_that_comes_to_nothing_is_not_begun_any_more(tmp_path):
    """Its code would run in vain a million times; with the last variant the run is over."""
    begun = []

    def model(trial):
        begun.append(trial.variant.index)
        return Scripted([AuthError("401")], id=f"m{trial.variant.index}")

    plan = example(500, asking_for(model), variants=VARIANTS[:2])
    finished, trials = await results(plan, tmp_path, concurrency=5)
    assert (finished.ending.status, trials) == ("stopped", {})
    assert len(begun) < 2 * agenda.IN_A_ROW + 10


LAST = range(28, 33)


@pytest.mark.thorough(after=3)
@pytest.mark.parametrize(
    ("bad", "error", "concurrency"),
    [
        *((range(1), TRANSIENT[0], n) for n in (1, 4)),
        (range(5), TRANSIENT[0], 4),
        (range(20), TRANSIENT[0], 10),
        (range(0, 33, 3), TRANSIENT[0], 2),
        (range(31, 33), TRANSIENT[0], 1),
        *((LAST, error, 10) for error in TRANSIENT),
    ],
    ids=str,
)
async def test_cases_that_always_fail_are_errors_and_the_others_are_settled(
    tmp_path, quick, bad, error, concurrency
):
    """Wherever they are in the run, and however many of the trials under way they are."""
    model = answered_but_for(bad, error)
    plan = example(33, asking_for(lambda _: model))
    finished, trials = await results(plan, tmp_path, concurrency=concurrency)
    assert finished.ending.status == "finished", finished.ending.message
    errors = [index for index, trial in sorted(trials.items()) if trial.outcome == "error"]
    assert (len(trials), errors) == (33, list(bad))
    assert all(error.message in trials[n].error.message for n in bad)


@pytest.mark.parametrize("error", TRANSIENT, ids=str)
async def test_a_vendor_that_answers_nobody_ends_the_run(tmp_path, quick, error):
    """The trials are left for a resume."""
    model = Scripted([error])
    finished, trials = await results(
        example(200, asking_for(lambda _: model)), tmp_path, concurrency=10
    )
    assert finished.ending.status == "stopped"
    assert "did not answer" in finished.ending.message
    assert error.message in finished.ending.message
    # In a burst without pauses, some have used up their six attempts before it is doubted.
    assert len(trials) <= 10
    assert {trial.outcome for trial in trials.values()} <= {"error"}


async def test_a_vendor_that_goes_away_for_good_leaves_the_rest(tmp_path, quick):
    """It has answered some: the rest are neither errors nor asked without end."""
    model = Scripted(lambda prompt: "yes" if len(model.asked) < 40 else Overloaded("503"))
    finished, trials = await results(
        example(400, asking_for(lambda _: model)), tmp_path, concurrency=10
    )
    assert finished.ending.status == "stopped"
    assert 30 <= len(trials) <= 60
    assert len(model.asked) < 300


async def test_trials_that_come_after_one_that_was_left_are_left_too(tmp_path):
    """What they need isn't there; those that need nothing of it are settled."""
    models = [Scripted(id="good"), Scripted([AuthError("401")], id="dead")]
    comes_after = {2: (1,), 3: (2,), 4: (0,)}
    slot = Slot(
        variant=VARIANTS[0], body=asking_for(lambda trial: models[trial.case.vars["n"] == 1])
    )

    def rows():
        for n in range(6):
            slots = [replace(slot, after=comes_after.get(n, ()))]
            yield Row(
                cases=(Case(str(n), {"n": n}),),
                slots=lambda *_, slots=slots: slots,
                repeats=1,
                rule=all_pass,
            )

    sheet = Sheet(
        variants=VARIANTS[:1], rows=rows, case_count=6, size=6, repeats=1, providers=lambda: models
    )
    plan = Plan(
        title="linked",
        sheets=[sheet],
        identify=lambda: "f",
        record=dict,
        source="",
        options=RunOptions(),
    )
    _, trials = await results(plan, tmp_path, concurrency=1)
    assert sorted(trials) == [0, 4, 5]


async def test_a_contest_with_a_trial_that_was_left_waits_for_resume(tmp_path):
    """It isn't held among the others, which were answered and are paid for once."""
    models = [Scripted([AuthError("401")], id="dead"), Scripted(id="a"), Scripted(id="b")]

    def plan():
        body = asking_for(lambda trial: models[trial.variant.index])
        return example(4, body, variants=VARIANTS[:3], referees=[First()])

    finished, trials = await results(plan(), tmp_path)
    assert (finished.ending.status, trials) == ("stopped", {})
    models[0].replies = ["yes"]
    again, trials = await results(plan(), tmp_path, finished.path)
    assert again.ending.status == "finished"
    assert [trials[n].outcome for n in range(3)] == ["pass", "fail", "fail"]
    assert [len(model.asked) for model in models[1:]] == [4, 4]
