"""Outputs of a case compared in pairs, through a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.scorers.test_preferred import said, stuck, text_in

from evenhand.core.errors import ProviderError, UsageError
from evenhand.core.message import Prompt
from evenhand.core.run import TrialResult
from evenhand.doors.eval_sets.evalset import EvalSet
from evenhand.doors.eval_sets.plan import plan_of
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.scorers import Ranking
from evenhand.store.measured import measured
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted

WORDS = ("a", "bb", "ccc", "dddd")


def longer(prompt: Prompt) -> str:
    """A judge that prefers the longer text."""
    first, second = len(text_in(prompt, "first")), len(text_in(prompt, "second"))
    return said("first" if first > second else "second" if second > first else "tie")


async def ran(
    home: Path,
    judge: Callable[[Prompt], Any] | Scripted,
    *,
    words: tuple[str, ...] = WORDS,
    cases: int = 1,
    **settings: Any,
) -> list[TrialResult]:
    """The trials of a set whose variants say these words, ranked."""
    evals = EvalSet(
        "ranked",
        data=[{"id": f"c{i}"} for i in range(cases)],
        judge=judge if isinstance(judge, Scripted) else Scripted(judge),
        over={"word": words},
        compare=[Ranking(criteria="is longer", **settings)],
    )

    @evals.eval
    def says(word: str) -> str | None:
        if word == "!":
            raise ValueError(word)
        return word if word != "-" else None

    finished = await door.settle(plan_of([evals], env={}), Settings(home=home, cache=False))
    with RunFile.open(finished.path) as run:
        return list(run.trials())


async def test_each_pair_is_shown_in_both_orders_and_nobody_fails(tmp_path: Path):
    """The score is the mean of an output's pairs; what was said is kept with the first of the two."""
    judge = Scripted(longer)
    trials = await ran(tmp_path, judge, words=("a", "ccc", "bb"))
    assert [(t.output, t.outcome, t.score) for t in trials] == [
        ("a", "pass", 0.0),
        ("ccc", "pass", 1.0),
        ("bb", "pass", 0.5),
    ]
    (outcome,) = trials[0].outcomes
    assert (outcome.name, outcome.scale) == ('ranking by "is longer"', (0, 1))
    assert outcome.reason == "won 0, lost 2, tied 0 of 2 pairs"
    ranked = [trial.outcomes[0].metadata["ranked"] for trial in trials]
    assert [[pair["variant"] for pair in pairs] for pairs in ranked] == [[1, 2], [2], []]
    one, two = ranked[0][0]["orders"]
    assert (one["first"], one["said"], two["first"], two["said"]) == (0, "second", 1, "first")
    assert (one["judge"], one["prompt"], one["reasoning"]) == ("scripted", "preferred/1", "because")
    assert (ranked[0][0]["winner"], ranked[0][0]["consistent"]) == ("other", True)
    assert sum(len(pair["orders"]) for pairs in ranked for pair in pairs) == 6


@pytest.mark.parametrize("judge", [stuck("first"), stuck("second"), stuck("tie")])
async def test_a_judge_that_goes_by_the_place_ends_in_ties(tmp_path: Path, judge: Any):
    """So does one that finds a tie; only this one agrees with itself."""
    trials = await ran(tmp_path, judge, words=("a", "bb"))
    assert [t.score for t in trials] == [0.5, 0.5]
    (pair,) = trials[0].outcomes[0].metadata["ranked"]
    assert pair["winner"] == "tie"
    assert pair["consistent"] is (judge("") == said("tie"))


async def test_pairs_are_drawn_anew_for_each_case_and_the_same_in_each_run(tmp_path: Path):
    """Two of six pairs, in one order each; over 60 cases every pair comes up, and each word in both places."""
    runs = [
        await ran(tmp_path / str(i), longer, cases=60, pairs=2, both_orders=False) for i in (0, 1)
    ]
    drawn = [
        [
            (trial.case, trial.variant, pair["variant"], order["first"])
            for trial in trials
            for outcome in trial.outcomes
            for pair in outcome.metadata["ranked"]
            for order in pair["orders"]
        ]
        for trials in runs
    ]
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) == 120
    assert {(one, two) for _, one, two, _ in drawn[0]} == {
        (i, j) for i in range(4) for j in range(i + 1, 4)
    }
    assert {(first == one) for _, one, _, first in drawn[0]} == {True, False}
    alone = [t.outcomes[0] for t in runs[0] if t.outcomes[0].outcome == "not_applicable"]
    assert {outcome.reason for outcome in alone} == {"in none of the pairs that were drawn"}


async def test_an_answer_that_is_missing_leaves_its_two_outputs_in_error_and_is_no_tie(
    tmp_path: Path,
):
    """The other pairs are kept, and so is what was said in the other order."""

    def judge(prompt: Prompt) -> str:
        broken = (text_in(prompt, "first"), text_in(prompt, "second")) == ("a", "bb")
        return "no idea" if broken else longer(prompt)

    trials = await ran(tmp_path, judge, words=("a", "bb", "ccc"))
    assert [(t.outcome, t.score) for t in trials] == [("error", None), ("error", None), ("pass", 1)]
    assert trials[0].outcomes[0].error == "judge"
    broken, whole = trials[0].outcomes[0].metadata["ranked"]
    assert (broken["winner"], broken["consistent"]) == (None, None)
    assert [order.get("error") for order in broken["orders"]] == ["judge", None]
    assert whole["winner"] == "other"


async def test_a_provider_that_fails_is_an_error_of_that_kind(tmp_path: Path):
    """It is no verdict, and not the judge's."""

    def judge(prompt: Prompt) -> str:
        raise ProviderError("the server is on fire")

    trials = await ran(tmp_path, judge, words=("a", "bb"))
    assert {t.outcomes[0].error for t in trials} == {ProviderError.slug}


async def test_a_score_is_unknown_where_another_output_is_missing_and_the_trial_passes(
    tmp_path: Path,
):
    """The other two are compared, but each might have won or lost against the third; nobody fails for losing."""
    trials = await ran(tmp_path, longer, words=("a", "!", "ccc"))
    assert [t.outcome for t in trials] == ["pass", "error", "pass"]
    assert [pair["variant"] for pair in trials[0].outcomes[0].metadata["ranked"]] == [2]
    for trial, word in ((trials[0], "won 0, lost 1"), (trials[2], "won 1, lost 0")):
        (own,) = trial.outcomes
        assert (own.outcome, own.score, trial.score, trial.error) == ("error", None, None, None)
        assert (
            own.reason == f"1 other output is missing; of the others, it {word}, tied 0 of 1 pair"
        )
    name = trials[0].outcomes[0].name
    with RunFile.open(next((tmp_path / "runs").glob("*.db"))) as run:
        sums, _ = measured(run, [name, "score"])
    assert {(sums[metric, 0].values, sums[metric, 0].errors) for metric in (name, "score")} == {
        (0, 1)
    }


async def test_a_variant_that_has_nothing_to_say_is_no_rival_and_leaves_scores_known(
    tmp_path: Path,
):
    """It isn't in error: no output of it will ever come."""
    trials = await ran(tmp_path, longer, words=("a", "-", "ccc"))
    assert [(t.outcomes[0].score if t.outcomes else None) for t in trials] == [0, None, 1]


async def test_low_confidence_of_any_answer_is_warned_of_once(tmp_path: Path):
    """With the output that keeps the answers."""
    trials = await ran(tmp_path, lambda _: said("first", 0.2), words=("a", "bb"))
    assert [t.outcomes[0].metadata.get("warning") for t in trials] == ["low confidence: 0.2", None]


async def test_without_ties_the_judge_is_asked_to_choose(tmp_path: Path):
    """A tie is then no answer."""
    judge = Scripted(lambda _: json.dumps({"reasoning": "r", "winner": "tie", "confidence": 1}))
    trials = await ran(tmp_path, judge, words=("a", "bb"), ties=False)
    assert {t.outcome for t in trials} == {"error"}
    assert "not one of first, second" in trials[0].outcomes[0].reason


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"criteria": " "}, "there are no criteria"),
        ({"criteria": 3}, "criteria"),
        ({"criteria": "x", "pairs": 0}, "pairs=0"),
        ({"criteria": "x", "pairs": True}, "pairs=True"),
        ({"criteria": "x", "judge": 3}, "judge="),
        ({"criteria": "x", "unsure_below": 2}, "unsure_below"),
    ],
)
def test_a_ranking_that_cannot_be_is_refused_where_it_is_written(wrong: dict[str, Any], why: str):
    """Before anything is run."""
    with pytest.raises(UsageError, match=why):
        Ranking(**wrong)
