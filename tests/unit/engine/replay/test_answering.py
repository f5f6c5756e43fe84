"""A run that replays another one: the same answers for the same trials, nothing sent, and misses that are errors."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.core import errors
from evenhand.core.case import Case
from evenhand.core.errors import BadRequest, EvenhandError, ProviderError
from evenhand.core.expect import Expectation, Trial
from evenhand.core.plan import Plan
from evenhand.core.run import CallEnd, TrialResult
from evenhand.core.score import check
from evenhand.core.variant import Variant
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.engine.replay.answering import recorded_error
from evenhand.scorers import StepDuration
from evenhand.store.recordings import Recordings, RunSource
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted, example, example_of


class Is:
    """An expectation that always holds, and says what it saw."""

    def score(self, output: Any, trial: Trial):
        del trial
        return check(True, str(output))


def asking(model: Scripted, text: str = "question {n}", times: int = 1):
    """A body that asks the model the same several times."""

    async def body(trial: Trial) -> object:
        lent = trial.model(model, "subject")
        asked = text.replace("{n}", str(trial.case.vars["n"]))
        said = [(await lent.generate(asked)).text for _ in range(times)]
        trial.expect(Expectation(said, Is()))
        return said

    return body


@contextmanager
def recorded(path: Path) -> Iterator[Recordings]:
    """The recordings of a run."""
    recordings = Recordings(RunSource(path))
    yield recordings
    recordings.close()


async def ran(plan: Plan, home: Path, replay: Path | None = None, **more: Any) -> Path:
    """Runs a plan, and says which file it wrote."""
    settings = Settings(home=home, cache=False, **more)
    if replay is None:
        return (await door.settle(plan, settings)).path
    with recorded(replay) as recordings:
        return (await door.settle(plan, replace(settings, replay=recordings))).path


def trials(path: Path) -> list[TrialResult]:
    """All results of a run."""
    with RunFile.open(path) as run:
        return list(run.trials())


def outputs(path: Path) -> list[Any]:
    """What its trials came to."""
    return [trial.output for trial in trials(path)]


def sampled(**more: Any) -> Scripted:
    """A model that says something else each time."""
    said = itertools.count()
    return Scripted(lambda _: f"answer {next(said)}", deterministic=False, **more)


async def test_a_replayed_run_says_the_same_and_sends_nothing(tmp_path: Path):
    """Every repeat and every identical request gets its own answer again; it costs nothing, and says what it saved."""
    model = sampled(cost_usd=0.25, bound_usd=0.5)
    plan = example(3, asking(model, times=2), repeats=2, providers=(model,))
    first = await ran(plan, tmp_path)
    assert len(model.asked) == 12
    again = await ran(plan, tmp_path, first)
    assert len(model.asked) == 12
    assert outputs(again) == outputs(first)
    assert len({tuple(output) for output in outputs(again)}) == 6
    with RunFile.open(again) as run:
        assert run.replayed() == (12, 3.0)
        assert (run.totals().cost_usd, run.totals().cached, run.spend().cost_usd) == (0, 12, 0)
        assert run.meta.settings["replay"]["run"] == first.stem
        assert {call.end.origin for call in run.calls() if call.end} == {"replay"}
    third = await ran(plan, tmp_path, again)  # a replay can be replayed
    assert outputs(third) == outputs(first)


async def test_trials_are_found_wherever_the_plan_has_them_now(tmp_path: Path):
    """Cases in another order, fewer of them, other variants beside: by case, variant and repeat, never by place."""
    model = sampled()
    cases = [Case(f"case-{i}", {"n": 0}) for i in range(4)]
    columns = [Variant(0, "a", "m"), Variant(1, "b", "m")]
    plan = example_of(asking(model), cases, variants=columns, providers=(model,))
    first = await ran(plan, tmp_path)
    wanted = {(t.case, "ab"[t.variant]): t.output for t in trials(first)}
    turned = [Variant(0, "b", "m"), Variant(1, "a", "m")]
    less = example_of(asking(model), cases[:0:-1], variants=turned, providers=(model,))
    again = await ran(less, tmp_path, first)
    assert {(t.case, "ba"[t.variant]): t.output for t in trials(again)} == {
        key: output for key, output in wanted.items() if key[0] != "case-0"
    }


async def test_one_changed_character_makes_exactly_its_calls_errors(tmp_path: Path):
    """The trial is an error that names the nearest recording and the difference; all others are as they were."""
    model = Scripted(lambda prompt: prompt.text.upper())
    cases = [Case(f"case-{i}", {"n": f"number {i} of many"}) for i in range(100)]
    first = await ran(example_of(asking(model), cases, providers=(model,)), tmp_path)
    cases[42] = Case("case-42", {"n": "number 42 of mani"})
    again = await ran(example_of(asking(model), cases, providers=(model,)), tmp_path, first)
    assert len(model.asked) == 100
    missed = [trial for trial in trials(again) if trial.outcome == "error"]
    (trial,) = missed
    assert trial.case == "case-42"
    assert trial.error is not None
    assert trial.error.slug == "not-recorded"
    assert trial.error.message == (
        f"run {first.stem[:10]} has no such request to scripted: messages[0][1], character 26: "
        '"…number 42 of many" recorded, "…number 42 of mani" now (the nearest is call 1 of this case)'
    )
    kept = [t.output for t in trials(again) if t.case != "case-42"]
    assert kept == [t.output for t in trials(first) if t.case != "case-42"]


async def test_a_miss_is_an_error_even_where_the_code_makes_something_of_it(tmp_path: Path):
    """An application that falls back on something else has no verdict by that."""
    model = Scripted()

    def falls_back(text: str):
        async def body(trial: Trial) -> object:
            try:
                said = (await trial.model(model, "subject").generate(text)).text
            except EvenhandError:
                said = "a fallback"
            trial.expect(Expectation(said, Is()))
            return said

        return body

    first = await ran(example(1, falls_back("a"), providers=(model,)), tmp_path)
    again = await ran(example(1, falls_back("b"), providers=(model,)), tmp_path, first)
    assert [(t.outcome, t.error and t.error.slug) for t in trials(again)] == [
        ("error", "not-recorded")
    ]


async def test_a_further_repeat_is_no_copy_of_another(tmp_path: Path):
    """What was drawn for two repeats is not drawn for a third: that is an error, which says so."""
    model = sampled()
    first = await ran(example(1, asking(model), repeats=2, providers=(model,)), tmp_path)
    again = await ran(example(1, asking(model), repeats=3, providers=(model,)), tmp_path, first)
    results = trials(again)
    assert [t.outcome for t in results] == ["pass", "pass", "error"]
    assert results[2].error is not None
    assert "has 2 answers to this request" in results[2].error.message


async def test_renamed_cases_are_found_by_their_requests_and_share_nothing(tmp_path: Path):
    """Each gets the answer of one trial that is not there any more, for its own repeat, and no two get the same."""
    model = sampled()
    cases = [Case(f"old-{i}", {"n": 7}) for i in range(3)]
    first = await ran(example_of(asking(model), cases, repeats=2, providers=(model,)), tmp_path)
    renamed = [Case(f"new-{i}", {"n": 7}) for i in range(3)]
    again = await ran(
        example_of(asking(model), renamed, repeats=2, providers=(model,)), tmp_path, first
    )
    for repeat in range(2):
        before = [t.output for t in trials(first) if t.repeat == repeat]
        after = [t.output for t in trials(again) if t.repeat == repeat]
        assert sorted(after) == sorted(before)
    assert len(model.asked) == 6


async def test_what_is_measured_is_found_for_any_trial(tmp_path: Path):
    """An embedding is the same for all: a new case has it, too."""
    model = Scripted()

    async def body(trial: Trial) -> object:
        (vector,) = await trial.model(model, "judge").embed(["a text"])
        trial.expect(Expectation(sum(vector), Is()))
        return None

    first = await ran(example(1, body, providers=(model,)), tmp_path)
    again = await ran(example(3, body, providers=(model,)), tmp_path, first)
    assert [t.outcome for t in trials(again)] == ["pass"] * 3
    assert len(model.asked) == 1


async def test_an_answer_of_a_trial_that_is_in_the_plan_is_not_given_to_another(tmp_path: Path):
    """It is the other one's own, although that one does not ask for it any more."""
    model = sampled()
    first = await ran(example(2, asking(model), providers=(model,)), tmp_path)
    swapped = [Case("case-0", {"n": 1}), Case("case-1", {"n": 2})]
    again = await ran(example_of(asking(model), swapped, providers=(model,)), tmp_path, first)
    result = trials(again)[0]
    assert result.error is not None
    assert "has 1 answer to this request to scripted, and it belongs to another" in (
        result.error.message
    )


async def test_recorded_errors_are_asked_again_where_what_is_missing_is_asked(tmp_path: Path):
    """The vendor may answer by now."""
    said: list[str | Exception] = [BadRequest("not now"), "yes"]
    model = Scripted(lambda _: said[len(model.asked) - 1], deterministic=False)
    plan = example(1, asking(model), providers=(model,))
    first = await ran(plan, tmp_path)
    again = await ran(plan, tmp_path, first, replay_asks=True)
    assert [trials(path)[0].outcome for path in (first, again)] == ["error", "pass"]
    assert len(model.asked) == 2


async def test_recorded_errors_come_again_and_only_end_their_trial(tmp_path: Path):
    """A refusal that was recorded is one again, with its slug; nothing is asked in its place."""
    model = Scripted({"number 1": BadRequest("too long for me"), "number": "yes"})
    plan = example(3, asking(model, "number {n}"), providers=(model,))
    first = await ran(plan, tmp_path)
    again = await ran(plan, tmp_path, first)
    for path in (first, again):
        slugs = [t.error.slug if t.error else "" for t in trials(path)]
        assert slugs == ["", "bad-request", ""]
    assert len(model.asked) == 3


async def test_what_is_missing_is_asked_where_that_is_wanted(tmp_path: Path):
    """And within the budget; what was recorded is not asked again."""
    model = sampled(cost_usd=0.25, bound_usd=0.25)
    first = await ran(example(2, asking(model), providers=(model,)), tmp_path)
    more = example(4, asking(model), providers=(model,))
    again = await ran(more, tmp_path, first, replay_asks=True, max_cost_usd=0.5)
    assert len(model.asked) == 4
    assert outputs(again)[:2] == outputs(first)
    with RunFile.open(again) as run:
        assert (run.replayed(), run.spend().cost_usd) == ((2, 0.5), 0.5)
    most = example(6, asking(model), providers=(model,))
    poor = await ran(most, tmp_path, first, replay_asks=True, max_cost_usd=0.5)
    with RunFile.open(poor) as run:
        assert run.meta.status == "out_of_budget"
    assert len(model.asked) == 6


def test_a_recorded_error_is_of_its_own_kind_again():
    """By its slug: no two kinds of failed calls may share one, though a failed grader has that of a failed function."""
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, ProviderError) and not kind.fatal
    ]
    assert len(kinds) > 10
    ends = [CallEnd(b"", "provider", error=kind.slug, message="no") for kind in kinds]
    assert [type(recorded_error(end)) for end in ends] == kinds


async def test_answers_that_came_at_once_take_as_long_in_a_replay(tmp_path: Path):
    """Three that were asked for at once, and one after them, took twice as long as one."""
    model = sampled(latency_s=0.2)

    async def body(trial: Trial) -> object:
        lent = trial.model(model, "subject")
        await asyncio.gather(*(lent.generate(f"question {n}") for n in range(3)))
        await lent.generate("and the last one")
        return StepDuration().score(None, trial).value

    plan = example(1, body, providers=(model,))
    first = await ran(plan, tmp_path)
    for path in (first, await ran(plan, tmp_path, first)):
        (seconds,) = outputs(path)
        assert 0.39 < seconds < 0.59, seconds


async def test_uneven_chains_take_as_long_in_a_replay_as_they_took(tmp_path: Path):
    """A slow answer stands beside three quick ones, and one that starts two more: none of these waits for it."""
    slow, quick = sampled(latency_s=0.6), sampled(latency_s=0.1)

    async def body(trial: Trial) -> object:
        async def asks(model: Scripted, name: str, times: int) -> None:
            lent = trial.model(model, "subject")
            for n in range(times):
                await lent.generate(f"{name} {n}")

        async def forks() -> None:
            await asks(quick, "fork", 1)
            await asyncio.gather(asks(quick, "left", 2), asks(quick, "right", 1))
            await asks(quick, "joined", 1)

        await asyncio.gather(asks(slow, "slow", 1), asks(quick, "quick", 3), forks())
        await asks(quick, "last", 1)
        began = sorted(one.started_s or 0.0 for one in trial.steps)
        return [StepDuration().score(None, trial).value, began[-2], began[-1]]

    plan = example(1, body, providers=(slow, quick))
    first = await ran(plan, tmp_path)
    ((seconds, joined, last),) = outputs(await ran(plan, tmp_path, first))
    # The fork has come together after 0.3 seconds, and everything after 0.6.
    assert (seconds, joined, last) == pytest.approx((0.7, 0.3, 0.6), abs=0.2)
