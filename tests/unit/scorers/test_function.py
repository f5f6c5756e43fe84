"""Plain functions as scorers, in eval sets, `score` and `score_batch`."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.case import Case
from evenhand.core.errors import ConfigError, UsageError
from evenhand.core.score import Outcome, Score
from evenhand.core.traits import Traits
from evenhand.doors.eval_sets.batch import score_batch
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.doors.eval_sets.scoring import score
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers import FunctionScorer, Latency
from evenhand.scorers.opposite import Not, opposite
from evenhand.store.runfile import RunFile


def is_iso_date(output: str) -> bool:
    """A check."""
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", output))


def word_count(output: str) -> int:
    """A measure."""
    return len(output.split())


async def is_expected(output: str, case: Case) -> bool:
    """One that waits, and looks at the case."""
    await asyncio.sleep(0)
    return output == case.expected


def with_reason(output: str):
    """One with a score of its own."""
    return Score(0.5, True, "half of it")


def raises(output: str) -> bool:
    """One with a bug."""
    return bool(1 / 0)


def nothing(output: str):
    """Forgets its return."""


class OfAnObject:
    def __call__(self, output: str) -> bool:
        return output == "2026-01-31"


async def outcomes(home: Path, *expected: Any) -> list[Outcome]:
    """What becomes of `expect("2026-01-31", scorer, **bounds)`, for each."""
    evals = EvalSet("functions", data=[{"id": "a", "expected": "2026-01-31"}])

    @evals.eval
    async def asks(expect):
        for given in expected:
            scorer, bounds = given if isinstance(given, tuple) else (given, {})
            expect("2026-01-31", scorer, **bounds)

    finished = await door.settle(plan_of([evals], env={}), Settings(home=home, cache=False))
    with RunFile.open(finished.path) as run:
        (trial,) = run.trials()
        return list(trial.outcomes)


async def test_a_plain_function_is_a_scorer(tmp_path: Path):
    """Sync and async; of the output, or of the output and the case; its name is the label."""
    found = await outcomes(
        tmp_path,
        is_iso_date,
        (word_count, {"at_most": 60}),
        (word_count, {"at_least": 2}),
        is_expected,
        with_reason,
        (lambda output: output > "2026", {"label": "this century"}),
        str.isupper,
        partial(re.fullmatch, "x"),
        OfAnObject(),
        ~FunctionScorer(is_iso_date),
        FunctionScorer(is_iso_date, "has a date"),
    )
    assert [(o.name, o.outcome, o.score) for o in found[:7]] == [
        ("is_iso_date", "pass", 1.0),
        ("word_count", "pass", 1.0),
        ("word_count", "fail", 1.0),
        ("is_expected", "pass", 1.0),
        ("with_reason", "pass", 0.5),
        ("this century", "pass", 1.0),
        ("isupper", "fail", 0.0),
    ]
    assert (found[7].outcome, found[7].reason) == (
        "error",
        "fullmatch returned NoneType, not True or False, a number, or a Score",
    )
    assert [(o.name, o.outcome) for o in found[8:]] == [
        ("OfAnObject", "pass"),
        ("not is_iso_date", "fail"),
        ("has a date", "pass"),
    ]
    assert found[4].reason == "half of it"


async def test_a_function_that_raises_or_returns_something_else_is_an_error(tmp_path: Path):
    """With its line, or with what it returned; the others are settled."""
    found = await outcomes(
        tmp_path, raises, nothing, partial(str.replace, "a", "b"), len, is_iso_date
    )
    assert [o.outcome for o in found] == ["error", "error", "error", "error", "pass"]
    assert "ZeroDivisionError" in found[0].reason
    assert re.search(r"test_function\.py:\d+", found[0].hint + found[0].reason)
    assert found[1].reason == "nothing returned NoneType, not True or False, a number, or a Score"
    assert "replace returned str" in found[2].reason
    assert "without a verdict, and there is no bound" in found[3].reason


async def test_a_function_that_cannot_be_asked_is_an_error_that_says_how_to_write_it(
    tmp_path: Path,
):
    """A lambda has no name; a function of something else is given nothing else."""

    def of_two(output: str, other: str) -> bool:
        return output == other

    found = await outcomes(
        tmp_path, lambda output: True, of_two, bool, (is_iso_date, {"at_least": 1})
    )
    assert {o.outcome for o in found} == {"error"}
    assert [o.reason.partition("expect: ")[2] for o in found] == [
        "a lambda as a scorer needs a label",
        (
            "of_two as a scorer is given the output, and the case where it has a parameter 'case': "
            "missing a required argument: 'other'"
        ),
        "bool is a class",
        "is_iso_date is true or false, and has a bound",
    ]


async def test_a_number_of_a_function_without_a_bound_never_passes(tmp_path: Path):
    """Said where its annotation tells, and otherwise when it answered; `~` has no number to turn round."""

    def length(output):
        return len(output)

    found = await outcomes(tmp_path, word_count, length, ~FunctionScorer(length))
    assert [o.outcome for o in found] == ["error"] * 3
    assert "word_count gives a number, and has no bound" in found[0].reason
    assert "length gave 10 without a verdict, and there is no bound" in found[1].reason
    assert "only a verdict has an opposite" in found[2].reason


async def test_a_function_that_blocks_holds_nobody_up(tmp_path: Path):
    """It runs beside the event loop, as all that users write: two that wait for each other both end."""
    meet = threading.Barrier(2)

    def one(output: str) -> bool:
        return meet.wait(30) >= 0

    def other(output: str) -> bool:
        time.sleep(0)
        return meet.wait(30) >= 0

    assert [o.outcome for o in await outcomes(tmp_path, one, other)] == ["pass", "pass"]


def test_what_a_file_says_plainly_is_seen_before_it_runs(tmp_path: Path):
    """A function that gives a number by its annotation, and is expected without a bound."""
    file = tmp_path / "my_evals.py"
    file.write_text(
        "from evenhand import EvalSet\n"
        "def words(output: str) -> int:\n"
        "    return len(output.split())\n"
        "evals = EvalSet('x')\n"
        "@evals.eval\n"
        "def asks(expect):\n"
        "    expect('a b', words)\n"
    )
    from evenhand.doors.eval_sets.discovery import find

    with pytest.raises(ConfigError, match="words gives a number, and has no bound"):
        plan_of(find([str(file)]).sets, env={})


def test_functions_are_metrics_of_one_answer_and_of_many(tmp_path: Path):
    """`score` and `score_batch` only measure: no bound is needed."""
    found = score(answer="a b c", metrics=[word_count, is_iso_date], home=tmp_path)
    assert found.values == {"word_count": 3.0, "is_iso_date": 0}
    alone = score(answer="a b c", metrics=word_count, home=tmp_path)
    assert alone["word_count"].value == 3.0
    with pytest.raises(UsageError, match="metrics: a lambda as a scorer needs a label"):
        score(answer="a", metrics=[lambda output: 1.0], home=tmp_path)
    rows = [{"id": "one", "answer": "a"}, {"id": "two", "answer": "a b"}]
    report = score_batch(rows, metrics=[word_count], home=tmp_path, progress=False)
    assert report.summary()[0].mean == 1.5


def test_the_scorer_of_a_function_checks_what_it_is_given():
    """Traits of its own go before the annotation's."""
    assert FunctionScorer(word_count).traits.gives == "number"
    own = Traits(gives="number", lower_is_better=True)
    assert FunctionScorer(word_count, traits=own).traits == own
    assert (~~FunctionScorer(is_iso_date)) == FunctionScorer(is_iso_date)
    with pytest.raises(UsageError, match="is not a function"):
        FunctionScorer("is_iso_date")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("score", "value"),
    [
        (Score(0.25, True), 0.75),
        (Score(4.0, True, scale=(1, 5)), 4.0),
        (Score(0.0, False, scale=(0, 1)), 1.0),
        (Score(30.0, False), 0.0),
    ],
)
async def test_the_opposite_of_a_number_stays_on_its_scale(judged, score, value):
    """Four of five points turned round are no −3 points, of functions as of other scorers."""
    for scorer in (~FunctionScorer(lambda _: score, "f"), opposite(Given(score))):
        outcome = await judged(scorer)
        assert (outcome.outcome, outcome.score) == ("fail" if score.passed else "pass", value)
        assert outcome.error == ""


@dataclass(frozen=True)
class Given:
    """A scorer with this answer."""

    answer: Score

    def score(self, output, trial):
        return self.answer


def test_an_opposite_reads_as_a_sentence_and_in_a_config_as_it_is_written():
    """The opposite of `latency ≤ 5 ms` is `latency > 5 ms`."""
    assert str(~Latency(5)) == "latency > 5 ms"
    assert str(opposite(Given(Score(1.0, True)))).startswith("not ")
    assert str(Not(Latency(5), word="not-")) == "not-latency ≤ 5 ms"
