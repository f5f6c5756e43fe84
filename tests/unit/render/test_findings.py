"""What a run has to say beyond its rates."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, result

from evenhand import EvalSet, Message, run
from evenhand.analysis.summaries.grid import Grid
from evenhand.analysis.summaries.preferences import preferences
from evenhand.analysis.summaries.skill_discovery import TriggerRates, trigger_rates
from evenhand.core.document import as_object
from evenhand.core.run import CallEnd, CallStart
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.core.wording.words import interval
from evenhand.render.console import show
from evenhand.render.document import document
from evenhand.render.findings import findings, low_confidence
from evenhand.render.markdown import write_markdown
from evenhand.render.run_warnings import usage_line, warnings
from evenhand.scorers.judge import MeetsRubric
from evenhand.stats.interval import wilson
from evenhand.store.runfile import RunFile
from evenhand.testing import Scripted

UNSURE = Outcome("polite", "pass", 1.0, metadata={"warning": "low confidence: 0.3"})
JURY = Outcome("jury", "pass", 1.0, metadata={"jury": [{"warning": "low confidence: 0.1"}] * 2})


async def test_flaky_cases_are_named_the_worst_first(make_run: Make):
    """Three of them with how often they passed, the others counted; those that always agree are not flaky."""
    passes = {"a": 2, "b": 1, "c": 0, "d": 3, "e": 2, "f": 2}
    trials = [
        result(3 * i + repeat, case=case, ok=repeat < n, repeat=repeat)
        for i, (case, n) in enumerate(passes.items())
        for repeat in range(3)
    ]
    run = await make_run(trials, repeats=3)
    tries, said = findings(run, Grid(run))
    assert "pass@3 83 % [44–97], pass^3 17 % [3–56] over 6 cases" in tries
    assert said.endswith(
        "4 of 6 cases passed in some repeats and failed in others: "
        "b (1 of 3 passed), a (2 of 3 passed), e (2 of 3 passed) and 1 more"
    )


async def test_a_single_column_with_repeats_has_its_interval_over_cases(make_run: Make):
    """Ten repeats of two cases are two cases, and the interval in the summary knows."""
    trials = [
        result(10 * case + repeat, case=f"c{case}", repeat=repeat)
        for case in range(2)
        for repeat in range(10)
    ]
    out = io.StringIO()
    show(await make_run(trials, repeats=10), out)
    assert "20 of 20 passed (100 %, 34–100)" in out.getvalue()


async def test_low_confidence_is_counted_by_judgement(make_run: Make):
    """A jury is one judgement; text that only looks like the warning is none."""
    fooled = '"warning":"low confidence: 0.1"'
    trials = [
        result(0, output=fooled, vars={"x": fooled}),
        result(1, outcomes=(Outcome("x", "pass", 1.0, metadata={"warning": "other"}),)),
        result(2, outcomes=(UNSURE, JURY)),
        result(3, outcomes=(UNSURE, Outcome("y", "pass", 1.0))),
    ]
    run = await make_run(trials)
    assert low_confidence(run) == (3, 2)
    assert findings(run, Grid(run)) == ["3 judgements of low confidence, the first at case 3"]


async def test_evals_that_expect_nothing_are_named_once(make_run: Make, monkeypatch):
    """With file and line, over all their columns; those that do expect something, and configs, are not."""
    variants = (
        Variant(0, "silent · a", "m", eval="shop: silent", where="/x/shop_evals.py:12"),
        Variant(1, "silent · b", "m", eval="shop: silent", where="/x/shop_evals.py:12"),
        Variant(2, "loud", "m", eval="shop: loud", where="/x/shop_evals.py:20"),
        Variant(3, "a config's", "m"),
    )
    weightless = (Outcome("seen", "pass", 1.0, weight=0),)
    trials = [
        result(i, variant=i % 4, score=None, outcomes=weightless if i % 4 == 2 else ())
        for i in range(8)
    ]
    monkeypatch.chdir("/")
    said = "so there is no verdict; --strict makes that an error"
    assert warnings(await make_run(trials, variants)) == [
        f"x/shop_evals.py:12: shop: silent expects nothing, {said}"
    ]
    trials[0] = result(0)
    assert warnings(await make_run(trials, variants)) == [
        f"x/shop_evals.py:12: shop: silent expects nothing in 3 of 4 trials, {said}"
    ]
    assert warnings(await make_run(trials[3:4], (*variants[3:], *variants[1:]))) == []


def asked(trial: int, role: str, *, origin: str = "provider", cost: float | None = 0.01, **end):
    """A call that was answered."""
    start = CallStart(trial, f"k{trial}", 0, role, f"openai:chat:{role}", b"{}", None)  # type: ignore[arg-type]
    return start, CallEnd(b"{}", origin, 0.1, 10, 5, cost, "m-1", **end)  # type: ignore[arg-type]


async def test_usage_is_told_by_role(make_run: Make):
    """Calls, replays, tokens and cost of each role; failed calls are no usage; an unknown price is said."""
    calls = [
        asked(0, "subject"),
        asked(1, "subject", origin="cache", cost=None),
        asked(0, "judge"),
        asked(1, "judge", cost=None),
        asked(1, "setup", error="rate-limited"),
    ]
    run = await make_run([result(0, calls=4, cached=2), result(1, calls=2, cached=1)], calls=calls)
    assert usage_line(run) == (
        "subject: 2 calls (1 replayed), 20 → 10 tokens, $0.0100 spent · "
        "judge: 2 calls, 20 → 10 tokens, cost unknown · 2 answered by earlier calls of the run"
    )
    assert [used.answered for used in run.usage()] == [("m-1",), ("m-1",)]


async def test_what_costs_nothing_is_not_taken_for_an_earlier_answer(make_run: Make):
    """Calls of a free model are in no journal; what an earlier session received is there once, and replayed."""
    calls = [asked(0, "subject"), asked(0, "judge")]
    run = await make_run([result(0, calls=5, cached=1)], calls=calls)
    assert "1 answered by earlier calls" in usage_line(run)
    run = await make_run([result(0, calls=2, cached=2)], calls=calls)
    assert "earlier" not in usage_line(run)


@pytest.mark.parametrize("roles", [(), ("subject",)])
async def test_one_role_has_no_line_of_its_own(make_run: Make, roles: tuple[str, ...]):
    """The summary says all of it."""
    run = await make_run([result(0, calls=1)], calls=[asked(0, role) for role in roles])
    assert usage_line(run) == ""


async def test_a_model_that_answers_under_two_names_is_one(make_run: Make):
    """An alias that moved in the middle of a run is a row with both names, and all its calls."""
    first, second = asked(0, "subject"), asked(1, "subject", cost=None)
    moved = (second[0], CallEnd(b"{}", "provider", 0.1, None, 5, None, "m-2"))
    (used,) = (await make_run([result(0)], calls=[first, moved])).usage()
    assert (used.answered, used.calls, used.tokens_in, used.cost_usd) == (
        ("m-1", "m-2"),
        2,
        10,
        None,
    )


async def test_trigger_tests_have_precision_and_recall(make_run: Make):
    """Of what was decided: repeats of a query are one query, and an error is in neither."""

    def query(index: int, case: str, wanted: bool, matched: bool, repeat: int = 0):
        named = {"trigger recall": float(matched)} if wanted else {}
        named |= {"trigger precision": float(wanted)} if matched else {}
        score = float(wanted is matched)
        outcome = Outcome("triggers", "pass" if score else "fail", score, named=named)
        return result(index, ok=bool(score), case=case, repeat=repeat, outcomes=(outcome,))

    trials = [
        *(query(i, "a", True, True, i) for i in range(2)),
        *(query(2 + i, "b", True, False, i) for i in range(2)),
        *(query(4 + i, "c", False, True, i) for i in range(2)),
        *(query(6 + i, "d", False, False, i) for i in range(2)),
        *(result(8 + i, ok=None, case="e", repeat=i) for i in range(2)),
    ]
    run = await make_run(trials, repeats=2)
    (line,) = [line for line in findings(run, Grid(run)) if "recall" in line]
    assert line.endswith(
        "precision 50 % [9–91], 2 of 4 that matched should · recall 50 % [9–91], 2 of 4 that should match did"
    )
    (row,) = document(run)["triggers"]
    assert row["precision"] == row["recall"]
    assert (row["recall"]["rate"], row["recall"]["n"]) == (0.5, 4)
    assert row["recall"]["low"] == pytest.approx(0.0945, abs=1e-4)
    out = io.StringIO()
    write_markdown(run, out)
    assert line in out.getvalue()


async def test_precision_of_nothing_that_matched_is_unknown(make_run: Make):
    """And not 0."""
    missed = Outcome("triggers", "fail", 0.0, named={"trigger recall": 0.0})
    run = await make_run([result(0, ok=False, outcomes=(missed,))])
    (found,) = trigger_rates(run)
    assert "precision unknown, 0 of 0" in str(found)
    keys = ("rate", "rate_least", "rate_most", "low", "high")
    assert as_object(found.precision.row()) == {"n": 0, "errors": 0, **dict.fromkeys(keys)}


async def test_a_query_without_a_decision_may_have_led_to_the_skill_or_not(make_run: Make):
    """Recall is open by those that should; precision by both kinds, each in its own way; cells and all trials alike."""
    hit = Outcome("triggers", "pass", 1.0, named={"trigger precision": 1.0, "trigger recall": 1.0})
    about = {"triggering": True}
    trials = [
        result(i, case=f"q{i}", outcomes=(hit,), metadata=about | {"should_match": True})
        for i in range(6)
    ]
    trials += [
        result(6 + i, case=f"e{i}", ok=None, metadata=about | {"should_match": i < 3})
        for i in range(5)
    ]
    trials.append(result(11, case="other", ok=None, metadata={"should_match": True}))
    run = await make_run(trials)
    (found,) = trigger_rates(run)
    assert str(found).endswith(
        f"recall 67–100 % [{interval(wilson(6, 9)[0], 1)}], 6 of 6 that should match did · "
        "5 trials without a decision"
    )
    # All of those that should not, and none of those that should; and the other way round.
    assert found.precision.share == pytest.approx((6 / 8, 1, wilson(6, 8)[0], 1))
    row = as_object(found.recall.row())
    assert (row["rate"], row["rate_least"], row["rate_most"], row["errors"]) == (None, 6 / 9, 1, 3)
    assert str(trigger_rates(run, range(12))[0]) == str(found)


async def test_runs_without_trigger_tests_say_nothing_of_them(make_run: Make):
    """Whatever somebody writes."""
    run = await make_run([result(0, output='"trigger recall": 1')])
    assert trigger_rates(run) == []


def preferring(index: int, winner: str, case: str = "", **other: Any):
    """A trial whose output is preferred, or the other one, or neither."""
    state = {"output": "pass", "other": "fail", "tie": "fail"}[winner]
    metadata = {"winner": winner, "consistent": True, "orders": [{}, {}]}
    outcome = Outcome('preferred by "x"', state, float(state == "pass"), metadata=metadata)
    return result(index, ok=state == "pass", case=case, outcomes=(outcome,), **other)


async def test_wins_losses_and_ties_of_a_preference_are_totalled(make_run: Make):
    """Each share with its interval; repeats of a case are one case."""
    winners = ["output"] * 6 + ["other"] * 1 + ["tie"] * 3
    trials = [preferring(i, winner) for i, winner in enumerate(winners)]
    run = await make_run(trials)
    (line,) = [line for line in findings(run, Grid(run)) if "preferred" in line]
    won, lost, tied = (interval(*wilson(n, 10)) for n in (6, 1, 3))
    assert line.endswith(
        f'preferred by "x": won 6, 60 % [{won}] · lost 1, 10 % [{lost}] · tied 3, 30 % [{tied}], of 10 pairs'
    )
    (row,) = document(run)["preferences"]
    assert row["name"] == 'preferred by "x"'
    assert [row[word]["count"] for word in ("won", "lost", "tied")] == [6, 1, 3]
    assert row["won"]["rate"] == 0.6
    out = io.StringIO()
    write_markdown(run, out)
    assert line in out.getvalue()
    again = [preferring(i, "output", case="a", repeat=i) for i in range(4)]
    (one,) = preferences(await make_run([*again, preferring(4, "other", case="b")], repeats=4))
    assert (one.won.hits, one.won.n) == (4, 5)
    assert one.won.share is not None
    assert one.won.share.value == 0.5


async def test_a_pair_without_a_verdict_may_have_been_won_lost_or_tied(make_run: Make):
    """The judge's error, or the model's: each share is open by as much."""
    failed = Outcome('preferred by "x"', "error", None)
    trials = [preferring(i, "output") for i in range(6)]
    trials += [result(6, ok=None, outcomes=(failed,)), result(7, ok=None)]
    run = await make_run(trials)
    (one,) = preferences(run)
    assert (one.won.errors, one.lost.errors, one.tied.errors) == (2, 2, 2)
    for side, least, most in ((one.won, 0.75, 1), (one.lost, 0, 0.25), (one.tied, 0, 0.25)):
        assert side.share is not None
        assert (side.share.least, side.share.most) == (least, most)
    assert str(one).endswith("of 6 pairs · 2 trials without a verdict")


async def test_metadata_that_only_looks_like_a_preference_is_none(make_run: Make):
    """A user's own `winner`, and text that says the same."""
    own = Outcome("mine", "pass", 1.0, metadata={"winner": "output", "consistent": True})
    trials = [result(0, outcomes=(own,)), result(1, output='"consistent": true "winner": "output"')]
    assert preferences(await make_run(trials)) == []


def test_the_precision_of_triggers_counts_each_decision_as_the_counts_beside_it_do():
    """Three repeats that match rightly, and one of another query that shouldn't have: three of four."""
    one = TriggerRates(0)
    for query, right in (("a", True), ("a", True), ("a", True), ("b", False)):
        one.precision.add(query, hit=right)
    assert str(one).startswith("precision 75 % [")
    assert "3 of 4 that matched should" in str(one)


def _messages(rubric: str, output: str) -> tuple[Message, ...]:
    return (Message("user", f"Give 0 to 100 for {rubric}: {output}"),)


@pytest.mark.parametrize(
    ("score", "threshold", "hinted"),
    [
        (60, 0.7, True),
        (5, 0.7, True),
        (1.5, 1, True),
        (1, 0.7, False),
        (0.6, 0.7, False),
        (60, 70, False),
        (60, None, False),
    ],
)
def test_a_score_on_another_scale_than_its_threshold_is_hinted_once(
    tmp_path: Path, score: float, threshold: float | None, hinted: bool
):
    """A judge that gives 0 to 100 passes 0.7 whatever it says, as in promptfoo."""
    judge = Scripted((json.dumps({"reason": "so", "pass": True, "score": score}),))
    evals = EvalSet("scales", data=[{"id": "one"}, {"id": "two"}])

    @evals.eval
    def rates(case: Any, expect: Any) -> None:
        expect(case.id, MeetsRubric("polish", judge, threshold, _messages))

    with RunFile.open(run(evals, home=tmp_path, cache=False).path) as file:
        said = [text for text in warnings(file) if "the judge gave" in text]
    wanted = f"the judge gave {score:g}, and the threshold is {threshold}, in one: write the threshold on the scale"
    assert [text.startswith(wanted) for text in said] == [True] * hinted


async def test_a_run_says_which_of_its_judges_were_changed_while_it_was_interrupted(make_run: Make):
    """Its verdicts are those of two judges, whatever the first one would have said of the rest."""
    code = {"judge file://own.py": "1a>2b", "judge file://same.py": "1a", "bot.py": "1a>2b"}
    (said,) = warnings(await make_run([result(0)], code=code))
    assert said.startswith("file://own.py judged by two versions of its code")
