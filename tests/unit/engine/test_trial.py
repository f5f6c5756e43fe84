"""One trial, with whatever a body and its scorers may do to it."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import (
    AuthError,
    BudgetStop,
    CodeError,
    ProviderError,
    StoreError,
    first_line,
)
from evenhand.core.expect import Expectation
from evenhand.core.message import Prompt, Reply, Usage
from evenhand.core.plan import PlannedTrial
from evenhand.core.score import Score, Verdict, check
from evenhand.core.variant import Variant
from evenhand.engine.budget import Spending
from evenhand.engine.capture import Sink
from evenhand.engine.trial import LiveTrial
from evenhand.testing import Scripted


class Gives:
    """A scorer that does as it is told."""

    def __init__(self, act) -> None:
        self.act = act

    def __str__(self) -> str:
        return "gives"

    def score(self, output, trial):
        return self.act(output)


class Asker:
    """Answers from a list, in place of a run."""

    def __init__(self, *replies) -> None:
        self.replies = list(replies)
        self.asked = []

    async def ask(self, trial, provider, prompt, role):
        self.asked.append((provider.id, prompt, role))
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


class Host:
    """Runs functions on the spot."""

    async def load(self, path, name):
        return (path, name)

    async def call(self, function, *args, name, limit_s=None):
        return function(*args)


class Numeric(float):
    """A float that is not quite one, as NumPy's are."""


def trial_of(body, asker=None, rule=None) -> LiveTrial:
    """A trial with this body."""
    more = {"rule": rule} if rule else {}
    case = Case("c", {"x": 1}, description="a case", metadata={"k": "v"})
    planned = PlannedTrial(
        index=3, case=case, variant=Variant(1, "p", "m"), repeat=2, body=body, **more
    )
    return LiveTrial(planned, asker or Asker(), Host())


def expecting(*acts):
    """A body that expects of its output what these scorers say."""

    async def body(trial):
        for act in acts:
            trial.expect(Expectation("out", Gives(act)))
        return "out"

    return body


def raising(error):
    """Something that raises."""

    def act(*_):
        raise error

    return act


def later(value):
    """A scorer's answer that takes a while."""

    def act(_):
        async def wait():
            await asyncio.sleep(0)
            if isinstance(value, BaseException):
                raise value
            return value

        return wait()

    return act


async def test_a_trial_says_where_it_stands_and_lends_what_the_host_has():
    """Case, variant and repeat are the plan's; code is the host's business."""
    seen = []

    async def body(trial):
        seen.append((trial.case.id, trial.variant.index, trial.repeat))
        seen.append(await trial.load("f.py", "g"))
        seen.append(await trial.call(lambda x: x + 1, 1, name="inc"))

    trial = trial_of(body)
    trial.log = Sink()
    trial.log.write("printed")
    result = await trial.settle()
    assert seen == [("c", 1, 2), ("f.py", "g"), 2]
    assert (result.index, result.case, result.variant, result.repeat) == (3, "c", 1, 2)
    assert (result.description, result.metadata, result.log) == ("a case", {"k": "v"}, "printed")
    assert (result.outcome, result.score, result.cost_usd, result.latency_s) == (
        "pass",
        None,
        0.0,
        None,
    )


async def test_what_a_case_asks_and_what_is_right_travel_with_the_result():
    """So that whoever reads the run can hold the output against it."""
    body = expecting(lambda output: check(True))
    planned = PlannedTrial(
        index=0,
        case=Case("c", input="2 + 2?", expected={"sum": 4}),
        variant=Variant(0, "p", "m"),
        repeat=0,
        body=body,
    )
    result = await LiveTrial(planned, Asker(), Host()).settle()
    assert (result.input, result.expected) == ("2 + 2?", {"sum": 4})
    none = await trial_of(body).settle()
    assert (none.input, none.expected) == (None, None)


async def test_only_the_subject_sets_prompt_reply_and_latency():
    """A judge's answer is not what is being judged; its price counts all the same."""
    subject = Reply("s", usage=Usage(3, 4), cost_usd=0.5, latency_s=0.2)
    judge = Reply("j", usage=Usage(10, None), cost_usd=0.25, latency_s=9.0)
    asker = Asker(subject, judge)

    async def body(trial):
        model = Scripted(id="m", label="Model")
        assert trial.model(model, "subject").name == "Model"
        await trial.model(model, "subject").generate("what?")
        await trial.model(model, "judge").generate(Prompt.of("is it good?"))
        assert trial.reply is subject
        return "done"

    result = await trial_of(body, asker).settle()
    assert (result.prompt, result.latency_s, result.calls) == ("what?", 0.2, 2)
    assert (result.cost_usd, result.tokens_in, result.tokens_out) == (0.75, 13, 4)


def test_spending_knows_what_it_does_not_know():
    """One unknown price makes the sum unknown; a replay costs nothing now; unknown tokens are not 0."""
    spent = Spending()
    spent.add(Reply("a", origin="cache", cost_usd=9.0), "subject")
    assert (spent.cost_usd, spent.cached, spent.tokens_in) == (0.0, 1, None)
    spent.add(Reply("b"), "judge")
    spent.add(Reply("c", cost_usd=1.0), "judge")
    assert (spent.cost_usd, spent.calls, spent.latency_s) == (None, 3, None)
    assert spent.judged is not None
    assert (spent.judged.calls, spent.judged.cost_usd) == (2, None)


@pytest.mark.parametrize(
    ("error", "slug", "message"),
    [
        (ValueError("boom"), "code", "ValueError: boom"),
        (KeyError(), "code", "KeyError"),
        (CodeError("f.py:g raised", hint="f.py:3"), "code", "f.py:g raised"),
        (ProviderError("400", status=400), "provider", "400"),
        (SystemExit(3), "code", "SystemExit: 3"),
        (asyncio.CancelledError(), "code", "CancelledError"),
    ],
)
async def test_what_a_body_raises_is_its_trials_error(error, slug, message):
    """Even where it tries to end the process, or lets a cancellation of its own out."""

    async def body(trial):
        raise error

    result = await trial_of(body).settle()
    assert result.outcome == "error"
    assert result.score is None
    assert result.error is not None
    assert (result.error.slug, result.error.message) == (slug, message)
    assert result.error.where == (error.hint if isinstance(error, CodeError) else "")


@pytest.mark.parametrize(
    "error", [AuthError("key"), BudgetStop("spent"), StoreError("full")], ids=lambda e: e.slug
)
@pytest.mark.parametrize("where", ["body", "scorer", "waiting scorer", "two waiting scorers"])
async def test_what_ends_the_run_passes_through(error, where):
    """Wherever it was raised."""

    async def failing(trial):
        raise error

    body = {
        "body": failing,
        "scorer": expecting(later(check(True)), raising(error)),
        "waiting scorer": expecting(later(error)),
        "two waiting scorers": expecting(later(error), later(check(True))),
    }[where]
    with pytest.raises(type(error)):
        await trial_of(body).settle()


async def test_nothing_goes_on_when_one_of_several_judges_ends_the_run():
    """The others are cancelled, and over before the error is heard of."""
    ended = []

    def slow(_):
        async def wait():
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("slow")

        return wait()

    before = asyncio.all_tasks()
    with pytest.raises(AuthError):
        await trial_of(expecting(slow, later(AuthError("key")), slow)).settle()
    assert ended == ["slow", "slow"]
    assert asyncio.all_tasks() == before


async def test_cancelling_a_trial_cancels_its_judges_and_is_no_result():
    """A run that stops is not an error of its trials."""
    started = asyncio.Event()
    ended = []

    def slow(_):
        async def wait():
            started.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append("slow")

        return wait()

    task = asyncio.create_task(trial_of(expecting(slow, slow)).settle())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["slow", "slow"]


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Score(float("nan")), "gives gave nan for a score"),
        (Score(float("inf")), "gives gave inf for a score"),
        (Score(1e308), "gives gave 1e+308 for a score"),
        (Score(1.0, named={"tone": -1e200}), "gives gave -1e+200 for a score"),
        (Score("0.5"), "gives gave '0.5' for a score"),
        (Score(Numeric("nan")), "gives gave nan for a score"),
        (Score(1.0, named={"tone": float("nan")}), "gives gave nan for a score"),
        (Score(1.0, named={"tone": "high"}), "gives gave 'high' for a score"),
        (0.5, "Gives.score returned float, not a Score"),
        (None, "Gives.score returned NoneType, not a Score"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(), "SystemExit"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
async def test_a_scorer_that_gives_no_number_is_an_error_and_its_neighbours_are_not(
    given, says, delayed
):
    """Not a pass, not a 0, and the end of neither the trial nor the run."""
    plain = raising(given) if isinstance(given, BaseException) else lambda _: given
    bad = later(given) if delayed else plain
    result = await trial_of(expecting(later(check(True)), bad, later(check(True)))).settle()
    assert [o.outcome for o in result.outcomes] == ["pass", "error", "pass"]
    assert (result.outcomes[1].reason, result.outcomes[1].score) == (says, None)
    assert result.outcome == "error"
    assert result.error is not None
    assert result.error.message == says


@pytest.mark.parametrize("value", [Numeric(0.5), Fraction(1, 2), True, 1])
async def test_a_number_of_another_make_becomes_a_plain_one(value):
    """So that it can be written, and read back as the same number."""
    result = await trial_of(expecting(lambda _: Score(value, True, named={"n": value}))).settle()
    outcome = result.outcomes[0]
    assert outcome.outcome == "pass"
    assert type(outcome.score) is type(outcome.named["n"]) is float
    assert outcome.score == float(value)


async def test_a_rule_that_raises_is_an_error_that_keeps_the_outcomes():
    """What was found out is shown though nobody could sum it up."""

    def rule(outcomes):
        raise RuntimeError("no idea")

    result = await trial_of(expecting(lambda _: check(True)), rule=rule).settle()
    assert (result.outcome, result.reason, result.output) == (
        "error",
        "RuntimeError: no idea",
        "out",
    )
    assert [o.outcome for o in result.outcomes] == ["pass"]


async def test_a_rule_may_call_it_an_error_though_no_outcome_is():
    """The reason is the rule's then."""
    result = await trial_of(
        expecting(), rule=lambda outcomes: Verdict("error", None, "nothing to go by")
    ).settle()
    assert result.error is not None
    assert (result.error.slug, result.error.message) == ("error", "nothing to go by")


def test_an_exception_that_cannot_say_what_it_is_is_called_by_its_class():
    """A user's class may have a broken __str__."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("never")

    assert first_line(Mute()) == "Mute"
    assert first_line(CodeError("what", hint="why")) == "what"


async def test_identical_requests_of_a_trial_are_counted():
    """The first is number 0, whatever other requests come between."""
    trial = trial_of(expecting())
    assert [trial.nth(key) for key in ("a", "b", "a", "a", "b")] == [0, 0, 1, 2, 1]


async def test_awaitables_that_are_left_over_are_closed():
    """A scorer that ends the run leaves no coroutine that was never awaited."""
    made = []

    def unwanted(_):
        async def never():
            return check(True)

        made.append(never())
        return made[-1]

    with pytest.raises(StoreError):
        await trial_of(expecting(unwanted, raising(StoreError("full")))).settle()
    assert made[0].cr_frame is None
