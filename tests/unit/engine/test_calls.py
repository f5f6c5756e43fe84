"""The one place that every model call goes through: journal, cache, sharing, budget, retries, durability."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from evenhand.core.case import Case
from evenhand.core.encoding import decode
from evenhand.core.errors import (
    AuthError,
    BadReply,
    BadRequest,
    Overloaded,
    RateLimited,
    StoreError,
)
from evenhand.core.expect import Expectation, Trial
from evenhand.core.message import Prompt
from evenhand.core.plan import Plan
from evenhand.core.provider import Answer, Host, Request
from evenhand.core.run import TrialResult
from evenhand.core.score import check
from evenhand.core.variant import Variant
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.providers.catalog import create
from evenhand.store.cache import Cache
from evenhand.store.run_lookup import cache_folder
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script, Scripted, example, example_of


class Says:
    """An expectation that the output is this text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def score(self, output: Any, trial: Trial):
        return check(output == self.text, str(output))

    def __str__(self) -> str:
        return f"says {self.text}"


def asking(model: Scripted, text: str = "question {n}", times: int = 1):
    """A body that asks the model, and expects what it says to be `yes`."""

    async def body(trial: Trial) -> object:
        said = ""
        for _ in range(times):
            reply = await trial.model(model, "subject").generate(
                text.replace("{n}", str(trial.case.vars["n"]))
            )
            said = reply.text
        trial.expect(Expectation(said, Says("yes")))
        return said

    return body


async def run(plan: Plan, home: Path, **more: Any) -> RunFile:
    """Runs a plan to its end, and opens its file."""
    resume = more.pop("resume", None)
    finished = await door.settle(plan, Settings(home=home, **more), resume=resume)
    return RunFile.open(finished.path)


def trials(run_file: RunFile) -> list[TrialResult]:
    """All its results."""
    return list(run_file.trials())


async def test_each_call_is_journaled_with_its_reply_and_its_price(tmp_path: Path):
    """The run file alone says what was asked, what came back and what it cost."""
    model = Scripted(cost_usd=0.25, bound_usd=0.5)
    with await run(example(3, asking(model), providers=(model,)), tmp_path, cache=False) as found:
        calls = list(found.calls())
        assert [call.start.role for call in calls] == ["subject"] * 3
        assert all(call.end is not None and call.end.cost_usd == 0.25 for call in calls)
        assert found.totals().cost_usd == 0.75
        assert found.spend().cost_usd == 0.75


class Asks:
    """An expectation that asks the judge each of these; `parts` are settled with it."""

    def __init__(
        self, judge: Scripted, *questions: str, shared: str = "", parts: tuple[Asks, ...] = ()
    ) -> None:
        self.judge, self.questions, self.shared, self.parts = judge, questions, shared, parts

    async def score(self, output: Any, trial: Trial):
        model = trial.model(self.judge, "judge")
        if self.shared:
            await trial.once(self.shared, lambda: model.generate(self.shared))
        for question in self.questions:
            await model.generate(question)
        await trial.settled([Expectation(output, part) for part in self.parts])
        return check(True)


async def test_an_expectation_says_which_calls_were_made_for_it(tmp_path: Path):
    """Also where several are settled at once, share an answer, ask the same twice, have parts, or come to an error."""
    judge = Scripted(
        lambda prompt: BadRequest("no") if "fails" in prompt.text else "yes", latency_s=0.01
    )

    async def body(trial: Trial) -> str:
        await trial.model(judge, "subject").generate("subject")
        await trial.now(Expectation("", Asks(judge, "now")))
        for scorer in (
            Asks(judge, "a", "a", shared="both"),
            Asks(judge, "b", shared="both"),
            Asks(judge, "c", parts=(Asks(judge, "d"), Asks(judge, "e"))),
            Asks(judge, "it fails"),
        ):
            trial.expect(Expectation("", scorer))
        trial.expect(Expectation("yes", Says("yes")))
        return ""

    with await run(example(1, body, providers=(judge,)), tmp_path) as found:
        (trial,) = trials(found)
        texts = {
            (call.start.key, call.start.nth): decode(call.start.identity)["messages"][0][1]
            for call in found.calls()
        }
        assert [sorted(texts[call] for call in outcome.rests_on) for outcome in trial.outcomes] == [
            ["now"],
            ["a", "a", "both"],
            ["b", "both"],
            ["c", "d", "e"],
            ["it fails"],
            [],
        ]


async def test_a_second_run_is_answered_by_the_cache(tmp_path: Path):
    """No call is made; latency and tokens are those of the first, the cost is nothing."""
    model = Scripted(cost_usd=1.0)
    plan = example(4, asking(model), providers=(model,))
    (await run(plan, tmp_path)).close()
    assert len(model.asked) == 4
    with await run(plan, tmp_path) as again:
        assert len(model.asked) == 4
        assert again.totals().cached == 4
        assert again.totals().cost_usd == 0
        assert again.totals().tokens_in > 0


async def test_without_the_cache_everything_is_asked_again(tmp_path: Path):
    """Neither read nor written."""
    model = Scripted()
    plan = example(2, asking(model), providers=(model,))
    for _ in range(2):
        (await run(plan, tmp_path, cache=False)).close()
    assert len(model.asked) == 4
    assert Cache.open(cache_folder(tmp_path)).stats().entries == 0


async def test_repeats_are_draws_of_their_own(tmp_path: Path):
    """The same question asked for repeat 1 is not answered with repeat 0's reply."""
    model = Scripted(("yes", "no"))
    plan = example(1, asking(model), repeats=2, providers=(model,))
    with await run(plan, tmp_path, concurrency=1) as found:
        assert [t.output for t in trials(found)] == ["yes", "no"]
    with await run(plan, tmp_path, concurrency=1) as again:
        assert [t.output for t in trials(again)] == ["yes", "no"]
    assert len(model.asked) == 2


async def test_the_second_identical_question_of_a_trial_is_a_draw_of_its_own(tmp_path: Path):
    """A body that samples three times gets three samples, and the same three from the cache."""
    model = Scripted(("a", "b", "yes"))
    plan = example(1, asking(model, times=3), providers=(model,))
    for _ in range(2):
        with await run(plan, tmp_path) as found:
            assert trials(found)[0].output == "yes"
    assert len(model.asked) == 3


async def test_trials_that_ask_the_same_at_once_share_one_call(tmp_path: Path):
    """A deterministic answer is paid for once."""
    model = Scripted(latency_s=0.02)
    plan = example(5, asking(model, "the same for all"), providers=(model,))
    with await run(plan, tmp_path) as found:
        assert len(model.asked) == 1
        assert found.totals().passed == 5
        assert [call.start.trial for call in found.calls()] == [0, 1, 2, 3, 4]
        ends = [call.end for call in found.calls() if call.end]
        assert [end.origin for end in ends] == ["provider", *["cache"] * 4]
        assert len({end.body for end in ends}) == 1
        assert found.spend().calls == 1


async def test_trials_that_ask_the_same_one_after_the_other_pay_once(tmp_path: Path):
    """In a cache that did not exist before, whether or not the answer has reached the disk by then."""
    model = Scripted(cost_usd=1.0)
    plan = example(5, asking(model, "the same for all"), providers=(model,))
    with await run(plan, tmp_path, concurrency=1) as found:
        assert len(model.asked) == 1
        assert found.totals().cost_usd == 1.0
        assert found.totals().cached == 4


async def test_what_is_sampled_is_never_shared_between_cases(tmp_path: Path):
    """Two cases that ask the same of a model at temperature 1 are two samples."""
    model = Scripted(deterministic=False, latency_s=0.01)
    plan = example(3, asking(model, "the same for all"), providers=(model,))
    for _ in range(2):
        (await run(plan, tmp_path)).close()
    assert len(model.asked) == 3


async def test_what_is_sampled_is_never_shared_between_variants(tmp_path: Path):
    """Each has draws and costs of its own; a later run finds them, whatever place a variant has there."""
    model = Scripted(deterministic=False, latency_s=0.01, cost_usd=1.0)
    variants = tuple(Variant(i, "prompt", "model", axes={"code": i}) for i in range(3))
    plan = example(2, asking(model, "the same for all"), providers=(model,), variants=variants)
    with await run(plan, tmp_path) as found:
        assert [trial.cost_usd for trial in found.trials()] == [1.0] * 6
    moved = tuple(replace(variant, index=i) for i, variant in enumerate(reversed(variants)))
    plan = example(2, asking(model, "the same for all"), providers=(model,), variants=moved[:2])
    (await run(plan, tmp_path)).close()
    assert len(model.asked) == 6


async def test_a_failed_shared_call_fails_those_who_waited_for_it(tmp_path: Path):
    """Each trial gets the error; nothing is cached."""
    model = Scripted([BadRequest("no")], latency_s=0.02)
    plan = example(3, asking(model, "the same"), providers=(model,))
    with await run(plan, tmp_path) as found:
        assert found.totals().errors == 3
        assert {t.error.slug for t in trials(found) if t.error} == {"bad-request"}
    assert len(model.asked) == 1


async def test_a_trial_that_asks_what_another_is_giving_up_gets_an_answer_of_its_own(
    tmp_path: Path,
):
    """Giving up takes a moment; whoever asks the same meanwhile is not given up with it.

    Who comes once it is given up shares the second call, which is still under way.
    """
    giving_up, over = asyncio.Event(), asyncio.Event()

    class Slow(Scripted):
        """Doesn't answer whoever asks first, and is slow to give that up."""

        async def send(self, request: Request, host: Host) -> Answer:
            if self.asked:
                return await super().send(request, host)
            self.asked.append(cast("Prompt", request.payload))
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                giving_up.set()
                await over.wait()
                raise
            raise AssertionError

    model = Slow(latency_s=0.3)

    async def body(trial: Trial) -> object:
        if trial.case.vars["n"]:
            await giving_up.wait()
            if trial.case.vars["n"] == 2:
                await over.wait()
                await asyncio.sleep(0.05)
            asyncio.get_running_loop().call_later(0.05, over.set)
            return (await trial.model(model, "subject").generate("the same for all")).text
        asking = asyncio.ensure_future(trial.model(model, "subject").generate("the same for all"))
        while not model.asked:
            await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        return "given up"

    with await run(example(3, body, providers=(model,)), tmp_path) as found:
        assert [trial.output for trial in trials(found)] == ["given up", "yes", "yes"]
    assert len(model.asked) == 2


async def test_resume_asks_for_nothing_that_was_received(tmp_path: Path):
    """Trials without a verdict are done again out of the journal; those with one are left alone."""
    model = Scripted(cost_usd=0.5)
    broken = True

    async def body(trial: Trial) -> object:
        reply = await trial.model(model, "subject").generate(f"question {trial.case.id}")
        if broken:
            raise ValueError("the grader has a bug")
        return reply.text

    plan = example(3, body, providers=(model,))
    with await run(plan, tmp_path, cache=False) as first:
        assert first.totals().errors == 3
    broken = False
    with await run(plan, tmp_path, cache=False, resume=first.path) as again:
        assert again.totals().passed == 3
        assert again.totals().cached == 3
        assert again.totals().cost_usd == 1.5  # paid for by this run, though in an earlier session
    assert len(model.asked) == 3


async def test_of_a_trial_that_was_resumed_each_call_says_where_its_answer_came_from(
    tmp_path: Path,
):
    """Read again out of the journal, out of the cache, or asked; without an interruption none is of the journal."""
    model = Scripted(cost_usd=0.5)
    (await run(example(1, asking(model, "known"), providers=(model,)), tmp_path)).close()
    broken = True

    async def body(trial: Trial) -> object:
        lent = trial.model(model, "subject")
        for question in ("first", "known", "second"):
            await lent.generate(question)
        if broken:
            raise ValueError("the application has a bug")
        return (await lent.generate("third")).text

    plan = example(1, body, providers=(model,))
    with await run(plan, tmp_path) as first:
        assert origins(first) == ["provider", "cache", "provider"]
    broken = False
    with await run(plan, tmp_path, resume=first.path) as again:
        assert origins(again) == ["journal", "cache", "journal", "provider"]


async def test_what_has_no_record_leaves_it_open_which_answers_were_replayed(tmp_path: Path):
    """A trial that counts more answers than the journal has is not taken for one that was resumed."""
    model = Scripted()
    with await run(example(1, asking(model), providers=(model,)), tmp_path) as found:
        (trial,) = trials(found)
        more = replace(trial, calls=2, cached=1)
        assert [call.end.origin for call in found.calls_of(more) if call.end] == ["provider"]


def origins(found: RunFile) -> list[str]:
    """Where the answers of the only trial came from."""
    (trial,) = trials(found)
    return [call.end.origin if call.end else "" for call in found.calls_of(trial)]


async def test_resume_finds_the_reply_that_another_trial_received(tmp_path: Path):
    """Though the cache, which would have had it, is gone."""
    model = Scripted()
    broken = True

    async def body(trial: Trial) -> object:
        if trial.case.vars["n"] == 1 and broken:
            raise ValueError("not this time")
        return (await trial.model(model, "subject").generate("the same")).text

    plan = example(2, body, providers=(model,))
    with await run(plan, tmp_path) as first:
        assert first.totals().errors == 1
    Cache.open(cache_folder(tmp_path)).clear()
    broken = False
    (await run(plan, tmp_path, resume=first.path)).close()
    assert len(model.asked) == 1


async def test_faults_are_tried_again_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A bad reply may have been charged for: it is wasted, and says so."""
    monkeypatch.setattr("evenhand.engine.retry_pauses.RetryPolicy.pause", _at_once)
    model = Scripted([Overloaded("500"), BadReply("half", billed=True), "yes"])
    with await run(example(1, asking(model), providers=(model,)), tmp_path) as found:
        end = next(found.calls()).end
        assert end is not None
        assert (end.attempts, end.wasted) == (3, 1)
        assert found.totals().passed == 1


async def test_a_call_that_failed_for_good_is_journaled_with_its_error(tmp_path: Path):
    """It is not in doubt: its end is known."""
    model = Scripted([BadRequest("too long")])
    with await run(example(1, asking(model), providers=(model,)), tmp_path) as found:
        end = next(found.calls()).end
        assert end is not None
        assert (end.error, end.message) == ("bad-request", "too long")
        assert found.in_doubt() == []


async def test_a_rate_limit_without_a_word_on_when_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """And the run completes."""
    monkeypatch.setattr("evenhand.engine.retry_pauses.RetryPolicy.pause", _at_once)
    model = Scripted([RateLimited("429"), "yes"])
    with await run(example(1, asking(model), providers=(model,)), tmp_path) as found:
        assert found.totals().passed == 1


async def test_a_wrong_key_stops_the_run_at_once(tmp_path: Path):
    """Those that wait for the account never ask; nothing has a verdict."""
    model = Scripted([AuthError("wrong key", hint="Look at it.")], latency_s=0.01)
    finished = await door.settle(
        example(500, asking(model), providers=(model,)), Settings(home=tmp_path, concurrency=10)
    )
    assert finished.ending.status == "stopped"
    assert "wrong key" in finished.ending.message
    assert len(model.asked) <= 10
    with RunFile.open(finished.path) as found:
        assert found.totals().trials == 0
        assert found.meta.status == "stopped"


async def test_the_budget_stops_the_run_before_it_is_passed(tmp_path: Path):
    """Seven calls of at most 0.3 fit into 2, and cost 0.1 each."""
    model = Scripted(cost_usd=0.1, bound_usd=0.3)
    finished = await door.settle(
        example(50, asking(model), providers=(model,)),
        Settings(home=tmp_path, concurrency=1, max_cost_usd=2.0),
    )
    assert finished.ending.status == "out_of_budget"
    with RunFile.open(finished.path) as found:
        spent = found.totals().cost_usd
        assert spent is not None
        assert 1.7 <= spent <= 2.0


async def test_replies_that_were_cut_off_or_empty_are_not_cached(tmp_path: Path):
    """Another run should get a better one."""
    model = Scripted(("",))
    plan = example(1, asking(model), providers=(model,))
    for _ in range(2):
        (await run(plan, tmp_path)).close()
    assert len(model.asked) == 2


@pytest.mark.parametrize(("reason", "sent"), [("length", 2), ("stop", 1)])
async def test_a_reply_that_has_text_and_was_cut_off_is_not_cached(
    tmp_path: Path, reason: str, sent: int
):
    """Half an answer is scored once and asked for again by the next run; a whole one is not."""
    with FakeProvider(Script([Rule(reply="Half of", finish_reason=reason)])) as fake:
        model = create("openai:chat:gpt-5-mini", env=fake.env(), base=tmp_path)

        async def body(trial: Trial) -> object:
            reply = await trial.model(model, "subject").generate("Tell me all.")
            assert reply.text == "Half of"
            return reply.text

        for _ in range(2):
            (await run(example(1, body, providers=(model,)), tmp_path)).close()
        assert len(fake.requests) == sent


async def test_what_is_free_is_neither_journaled_nor_cached(tmp_path: Path):
    """Such as echo."""
    model = Scripted(paid=False)
    with await run(example(2, asking(model), providers=(model,)), tmp_path) as found:
        assert list(found.calls()) == []
        assert found.totals().passed == 2


async def test_settings_of_a_prompt_are_part_of_the_question(tmp_path: Path):
    """Asked at another temperature it is another question."""
    model = Scripted()

    async def body(trial: Trial) -> object:
        lent = trial.model(model, "subject")
        for heat in (0, 1):
            await lent.generate(Prompt.of("same", temperature=heat))
        return ""

    (await run(example(1, body, providers=(model,)), tmp_path)).close()
    assert len(model.asked) == 2


async def test_a_store_that_cannot_be_written_stops_the_run_and_sends_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Money is not spent on replies that cannot be kept."""
    model = Scripted()
    begun = 0

    async def begin(self: Any, start: Any) -> int:
        nonlocal begun
        begun += 1
        if begun > 3:
            raise StoreError("the disk is full")
        return begun

    monkeypatch.setattr("evenhand.store.journal.Journal.begin", begin)
    finished = await door.settle(
        example(50, asking(model), providers=(model,)),
        Settings(home=tmp_path, concurrency=1, cache=False),
    )
    assert finished.ending.status == "stopped"
    assert len(model.asked) == 3


async def test_a_delay_is_kept_before_each_call(tmp_path: Path):
    """And trials go one by one."""
    from evenhand.core.plan import RunOptions

    model = Scripted()
    plan = example(3, asking(model), providers=(model,), options=RunOptions(delay_s=0.02))
    started = asyncio.get_running_loop().time()
    (await run(plan, tmp_path)).close()
    assert asyncio.get_running_loop().time() - started >= 0.06
    assert model.most_at_once == 1


async def test_cases_with_the_same_question_and_no_cache_are_asked_each(tmp_path: Path):
    """Sharing is the cache's business."""
    model = Scripted()
    plan = example_of(
        asking(model, "same"), [Case("a", {"n": 1}), Case("b", {"n": 2})], providers=(model,)
    )
    (await run(plan, tmp_path, cache=False)).close()
    assert len(model.asked) == 2


def _at_once(self: Any, error: Any, *_: Any) -> float | None:
    return 0.0 if error.retryable else None


async def test_what_a_prompt_asks_for_as_json_is_read_as_json_whoever_reads_it(tmp_path: Path):
    """`response_format` of a prompt, as in a model's config: the output is the object, also when a run is resumed."""
    form = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    with FakeProvider(Script([Rule(reply={"legs": 4})])) as fake:
        model = create("openai:chat:gpt-5-mini", env=fake.env(), base=tmp_path)

        async def body(trial: Trial) -> object:
            asked = trial.model(model, "subject")
            plain = await asked.generate(Prompt.of("Legs?"))
            read = await asked.generate(Prompt.of("Legs?", response_format=form))
            again = await asked.generate(Prompt.of("Legs?"))
            return [plain.output, read.output, again.output]

        with await run(example(1, body, providers=(model,)), tmp_path) as found:
            (trial,) = trials(found)
        for _ in range(2):  # the second time all is in the cache
            with await run(example(1, body, providers=(model,)), tmp_path) as found:
                (trial,) = trials(found)
            assert trial.error is None
            assert trial.output == ['{"legs": 4}', {"legs": 4}, '{"legs": 4}']
