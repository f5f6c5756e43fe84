"""The public face, as users write against it; never executed. All that is imported is on the page "What is public".

A line that must *not* type-check says which rule refuses it; if it ever passes, the check fails, since an ignore that
ignores nothing is an error here.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true
from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, assert_type

import polars as pl

import evenhand
from evenhand import EvalSet, Expect, Message, Run, compare, run_async
from evenhand.analysis.summaries.metrics import Summary
from evenhand.core.case import Case
from evenhand.core.expect import Expectation, Scorer, Trial
from evenhand.core.score import Outcome, Score, State, check
from evenhand.core.traits import Traits, traits_of
from evenhand.render.batch import BatchReport
from evenhand.render.comparing import Comparison
from evenhand.render.settled_trials import Trials
from evenhand.scorers import (
    CLARITY,
    CallsTools,
    Contains,
    CustomJudge,
    FunctionScorer,
    Graded,
    Judgement,
    Jury,
    Passes,
    Preferred,
    Rating,
    nDCG,
)
from evenhand.stats.paired_difference import Word
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script, Scripted


@dataclass(frozen=True)
class Shouts:
    """A scorer of a user's, that only measures."""

    marks: int

    def score(self, output: Any, trial: Trial) -> Score:
        return check(str(output).count("!") >= self.marks, "not loud enough")


class Waits:
    """A scorer that has to wait."""

    async def score(self, output: Any, trial: Trial) -> Score:
        return Score(1.0)


class Wrong:
    """No scorer: it gives a number away instead of a score."""

    def score(self, output: Any, trial: Trial) -> float:
        return 1.0


def scorers(trial: Trial, given: Scorer) -> None:
    """Anything with a `score` of the right shape is a scorer, plain or async; nothing else is."""
    plain: Scorer = Shouts(2)
    waiting: Scorer = Waits()
    assert_type(given.score("x", trial), Score | Awaitable[Score])
    trial.expect(Expectation("yes!", plain, at_least=0.5, label="loud"))
    trial.expect(Expectation("yes!", waiting))
    trial.expect(Expectation("yes!", Wrong()))  # pyright: ignore[reportArgumentType]
    trial.expect(Expectation("yes!", plain, threshold=1))  # pyright: ignore[reportCallIssue]


class Lengthy:
    """A scorer that says what is known of it before it is asked."""

    traits: ClassVar[Traits] = Traits(gives="number", scale=(0, 100), lower_is_better=True)

    def score(self, output: Any, trial: Trial) -> Score:
        return Score(float(len(str(output))), scale=self.traits.scale)


def is_iso_date(output: str) -> bool:
    """A function is a scorer."""
    return output.count("-") == 2


async def fits(output: str, case: Case) -> Score:
    """So is one that waits, and one that looks at the case."""
    return check(output == case.expected)


def shouted(output: str) -> str:
    """This one is none: a text is no answer."""
    return output.upper()


def forgets(output: str) -> None:
    """Nor is one that returns nothing."""


async def functions(expect: Expect) -> None:
    """`expect`, `score` and `score_batch` take functions beside scorers."""
    expect("x", is_iso_date)
    expect("x", fits, label="fits")
    expect("x", len, at_most=3)
    expect("x", lambda output: output == "x", label="is x")
    expect("x", Lengthy(), at_most=3)
    expect("x", ~FunctionScorer(is_iso_date))
    assert_type(await expect.now("x", is_iso_date), Outcome)
    evenhand.score(answer="x", metrics=["token_f1", is_iso_date, fits, Lengthy()])
    evenhand.score_batch([{"answer": "x"}], metrics=[is_iso_date])
    assert_type(traits_of(Lengthy()), Traits)
    expect("x", shouted)  # pyright: ignore[reportArgumentType]
    expect("x", forgets)  # pyright: ignore[reportArgumentType]
    expect("x", Wrong())  # pyright: ignore[reportArgumentType]
    expect("x", Shouts)  # pyright: ignore[reportArgumentType]
    evenhand.score(answer="x", metrics=[shouted])  # pyright: ignore[reportArgumentType]
    Traits(gives="maybe")  # pyright: ignore[reportArgumentType]
    Traits(measures=True)  # pyright: ignore[reportCallIssue]


def frozen(case: Case, score: Score) -> State:
    """Nouns are values: nobody changes one that somebody else holds."""
    case.id = "other"  # pyright: ignore[reportAttributeAccessIssue]
    score.value = 1.0  # pyright: ignore[reportAttributeAccessIssue]
    return "maybe"  # pyright: ignore[reportReturnType]


async def sets() -> None:
    """Eval sets give a run, whichever way they are run; a run holds its file."""
    evals = EvalSet("support")
    found = evenhand.run(evals, first=3, strict=True)
    assert_type(found, Run)
    assert_type(await run_async(evals, repeats=2), Run)
    assert_type(Run.open(found.path), Run)
    assert_type(found.rows(), list[dict[str, Any]])
    assert_type(found.outcome_rows(), list[dict[str, Any]])
    assert_type(found.to_polars(), pl.DataFrame)
    assert_type(found.trials(), Trials)
    assert_type(found.trials()[0].passed, bool | None)
    assert_type(found.trials()[1:][0].case, str)
    found.to_panda()  # pyright: ignore[reportAttributeAccessIssue]
    kept: RunFile = found.file
    assert_type(kept.path, Path)
    evenhand.run("support")  # pyright: ignore[reportArgumentType]


async def scored() -> None:
    """What waits takes what is awaited takes, and gives the same."""
    assert_type(evenhand.score(answer="yes", expected="no", metrics=["token_f1"]), evenhand.Scored)
    assert_type(await evenhand.score_async(answer="yes"), evenhand.Scored)
    assert_type(evenhand.score_batch([{"answer": "yes"}], metrics=["token_f1"]), BatchReport)
    assert_type(await evenhand.score_batch_async([{"answer": "yes"}]), BatchReport)
    evenhand.score(anser="yes")  # pyright: ignore[reportCallIssue]
    evenhand.score_batch(7, metric=["token_f1"])  # pyright: ignore[reportCallIssue]


def fakes() -> None:
    """What users test their own evals with."""
    Scripted(["yes", "no"])
    with FakeProvider(Script.read(Path("offline.jsonl")), latency_ms=5) as fake:
        assert_type(fake.url, str)


class Tone(Judgement):
    """What a judge of tone answers."""

    warmth: Graded[1, 5]


class ToneJudge(CustomJudge[Tone]):
    """A judge of tone."""

    house: str

    def messages(self, output: str) -> list[Message]:
        return [Message("user", f"{self.house}: {output}")]


async def judges(expect: Expect) -> None:
    """Judges are named by id; what a judge of one's own answered has the type of its schema."""
    tone = await expect.now("dear", ToneJudge(house="ours", judge="openai:gpt-5"))
    assert_type(tone, Tone)
    assert_type(tone.warmth.score, float)
    expect(tone.warmth.score, at_least=4, label="warmth")
    outcome = await expect.now("dear", Passes("is kind", judge="openai:gpt-5"))
    assert_type(outcome, Outcome)
    assert tone.cold  # pyright: ignore[reportAttributeAccessIssue]
    assert outcome.warmth  # pyright: ignore[reportAttributeAccessIssue]
    ToneJudge()  # pyright: ignore[reportCallIssue]
    ToneJudge(house=3)  # pyright: ignore[reportArgumentType]
    Passes("is kind", judge=3)  # pyright: ignore[reportArgumentType]
    Preferred(over="x", criteria="kinder", ties="maybe")  # pyright: ignore[reportArgumentType]
    CallsTools(["search"], order="some")  # pyright: ignore[reportArgumentType]
    Jury([Scripted(), "openai:gpt-5"], of=Rating(CLARITY))
    Jury(["openai:gpt-5"], of=Contains("x"))  # pyright: ignore[reportArgumentType]


def comparisons(before: Run, after: Run) -> None:
    """Runs, their columns, files and texts are compared; a verdict is one of five words."""
    found = compare(before, after, metric="faithfulness", margin=0.05)
    assert_type(found, Comparison)
    assert_type(found.verdict, Word)
    assert_type(found.results[0].difference, float | None)
    compare(before.column("plain"), after.column("plain"), metric=["passed", "latency"])
    compare(Path("a.db"), ":strict", cluster="document", lower=["words"])
    compare(before)  # pyright: ignore[reportCallIssue]
    compare(before, after, "passed")  # pyright: ignore[reportCallIssue]
    compare(before, 3)  # pyright: ignore[reportArgumentType]


def batches(rows: list[dict[str, Any]]) -> None:
    """Rows, datasets and frames are measured; bounds are one number or some by name."""
    report = evenhand.score_batch(rows, str.upper, metrics=["token_f1"], at_least=0.5)
    assert_type(report.summary(), list[Summary])
    evenhand.score_batch(evenhand.Dataset(rows), metrics=["RR"], at_most={"RR": 1})
    evenhand.score_batch(rows, metrics="RR", weights=3)  # pyright: ignore[reportArgumentType]
    nDCG({"a": 2.0}, k=10, exponential=True)
    nDCG(["a"], 10)  # pyright: ignore[reportCallIssue]
    assert_type(evenhand.Dataset(rows).split({"a": 1}), dict[str, evenhand.Dataset])
