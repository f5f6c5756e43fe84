"""Labelling a draw over HTTP: what a person is shown, and what is refused."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from tests.runs import Make, result
from tests.unit.render.test_judge_trust import a_run, judge_call, judged

from evenhand.analysis.trust.calibrated import judged_rates
from evenhand.core.errors import EvenhandError, UsageError
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.blind_verdicts import (
    draw_more,
    draw_reviews,
    drawn,
    keep_rule,
    keep_verdict,
    review_draw,
)


async def test_a_person_is_shown_what_was_drawn_and_nothing_of_the_judge(make_run: Make) -> None:
    """Before a draw nothing; then the items with their own verdicts, the rules, and what the labels are worth."""
    run = await a_run(make_run, 20)
    before = drawn(run, "ann")
    assert (before.items, before.judged, before.metrics, before.worth) == ([], 20, ["prose"], [])
    draw_more(run.path, {"size": 5})
    keep_rule(run.path, {"metric": "prose", "rule": "  No lists. "})
    with RunFile.open(run.path) as again:
        items = drawn(again, "ann").items
    assert len(items) == 5
    first = items[0]
    keep_verdict(
        run.path, {"index": first.index, "metric": "prose", "verdict": "fail", "author": "ann"}
    )
    with RunFile.open(run.path) as again:
        mine, theirs = drawn(again, "ann"), drawn(again, "bo")
    assert mine.rules == {"prose": "No lists."}
    assert [item.verdict for item in mine.items] == ["fail", None, None, None, None]
    assert all(item.verdict is None for item in theirs.items)
    assert len(theirs.items) == 5, "of one label, a fifth is that one"
    assert "1 label gives" in mine.worth[0]
    assert first.output == f"=answer {first.index}"
    shown = json.dumps([item.output + item.material for item in mine.items])
    assert "llm-rubric" not in shown
    keep_verdict(
        run.path, {"index": first.index, "metric": "prose", "verdict": None, "author": "ann"}
    )
    with RunFile.open(run.path) as again:
        assert drawn(again, "ann").items[0].verdict is None


async def test_the_page_draws_by_stratum_and_what_the_judge_doubts(make_run: Make) -> None:
    """As `evenhand label` does; and says how often a code was given, with its interval."""

    def of_topic(trial: TrialResult) -> TrialResult:
        doubts = trial.index % 4 == 0
        outcome = trial.outcomes[0]
        metadata = {**outcome.metadata, "confidence": 0.5 if doubts else 1.0}
        return replace(
            trial,
            outcomes=(replace(outcome, metadata=metadata),),
            metadata={"topic": "ab"[trial.index % 2]},
        )

    run = await a_run(make_run, 60, change=of_topic)
    before = drawn(run, "ann")
    assert (before.columns, before.left) == (["topic", "q"], 60)
    draw_more(run.path, {"size": 20, "design": "active"})
    draw_more(run.path, {"size": 10, "design": "stratum", "column": "topic", "equal": True})
    with RunFile.open(run.path) as again:
        active, equal = again.draws()
        after = drawn(again, "ann")
    assert (active.design, equal.design, equal.by) == ("active", "equal", "topic")
    assert {stratum.name for stratum in equal.strata} == {"a", "b"}
    assert after.left == 30
    place = after.items[0].index
    keep_verdict(run.path, {"index": place, "metric": "prose", "verdict": "fail", "author": "ann"})
    labels = [
        NewLabel(place, "code", "too long", "ann", blind=True),
        NewLabel(place, "score", 2.0, "ann", blind=True),
    ]
    append_labels(run.path, labels)
    with RunFile.open(run.path) as again:
        labelled = drawn(again, "ann")
    assert labelled.items[0].score == 2.0
    (line,) = labelled.counted
    assert line.startswith("too long: 100 % [")
    assert line.endswith("1 of 1 labelled outputs")


@pytest.mark.parametrize(
    ("change", "request_"),
    [
        (draw_more, {}),
        (draw_more, {"size": 0}),
        (draw_more, {"size": True}),
        (draw_more, {"size": 10**9}),
        (draw_more, {"size": "5"}),
        (draw_more, {"size": 5, "design": "best"}),
        (draw_more, {"size": 5, "design": ["active"]}),
        (draw_more, {"size": 5, "design": "stratum"}),
        (draw_more, {"size": 5, "design": "stratum", "column": 3}),
        (draw_more, {"size": 5, "design": "stratum", "column": "nothing"}),
        (keep_rule, {"metric": "prose"}),
        (keep_rule, {"metric": "prose", "rule": " "}),
        (keep_rule, {"metric": "none", "rule": "x"}),
        (keep_rule, {"metric": "prose", "rule": "x" * 10_001}),
        (keep_verdict, {"index": 0, "metric": "prose", "verdict": "good", "author": "a"}),
        (keep_verdict, {"index": 0, "metric": "prose", "verdict": "pass", "author": ""}),
        (keep_verdict, {"index": 0, "metric": "prose", "verdict": "pass"}),
        (keep_verdict, {"index": 99, "metric": "prose", "verdict": "pass", "author": "a"}),
        (keep_verdict, {"index": -1, "metric": "prose", "verdict": "pass", "author": "a"}),
        (keep_verdict, {"index": 2**80, "metric": "prose", "verdict": "pass", "author": "a"}),
        (keep_verdict, {"index": 0, "metric": "tone", "verdict": "pass", "author": "a"}),
    ],
)
async def test_what_is_no_draw_rule_or_verdict_is_refused_and_keeps_nothing(
    make_run: Make, change: Any, request_: dict[str, object]
) -> None:
    """Each with a message; the file is as it was."""
    run = await a_run(make_run, 3)
    with pytest.raises(EvenhandError):
        change(run.path, request_)
    with RunFile.open(run.path) as again:
        assert (again.draws(), again.rules(), again.metric_labels()) == ([], {}, [])


async def test_a_run_without_a_judge_has_nothing_to_label_on_the_page(make_run: Make) -> None:
    """And says so."""
    run = await make_run([result(0)], (Variant(0, "p", "m"),))
    with pytest.raises(EvenhandError, match="no judge gave a verdict"):
        drawn(run, "ann")


async def test_two_metrics_of_one_output_are_two_items(make_run: Make) -> None:
    """Each is labelled for itself."""
    trial = judged(0, ok=True)
    tone = replace(trial.outcomes[0], metric="tone", outcome="fail")
    run = await make_run(
        [replace(trial, outcomes=(*trial.outcomes, tone))],
        (Variant(0, "p", "m"),),
        planned=1,
        calls=[judge_call()],
    )
    draw_more(run.path, {"size": 1})
    with RunFile.open(run.path) as again:
        assert [item.metric for item in drawn(again, "ann").items] == ["prose", "tone"]


@pytest.mark.parametrize("sort", ["probe", "canaries"])
async def test_what_only_asks_about_judges_is_not_labelled_and_has_no_judged_rate(
    make_run: Make, sort: str
) -> None:
    """Its outputs are no system's answers: labels of them correct nothing."""
    run = await make_run(
        [judged(0, ok=True)],
        (Variant(0, "p", "m"),),
        planned=1,
        calls=[judge_call()],
        settings={sort: {}},
    )
    for change in (
        lambda: drawn(run, "ann"),
        lambda: draw_more(run.path, {"size": 1}),
        lambda: keep_rule(run.path, {"metric": "prose", "rule": "x"}),
        lambda: keep_verdict(
            run.path, {"index": 0, "metric": "prose", "verdict": "pass", "author": "a"}
        ),
    ):
        with pytest.raises(EvenhandError, match=r"attacks|canaries"):
            change()
    assert judged_rates(run) == []


@pytest.mark.parametrize("draw_", [draw_more, draw_reviews], ids=["labels", "reviews"])
async def test_two_people_who_draw_at_once_have_one_draw(make_run: Make, draw_: Any) -> None:
    """The second is told, and nothing is drawn twice: neither from what they both read, nor in the very same moment."""
    run = await a_run(make_run, 40)
    shape = drawn(run, "ann") if draw_ is draw_more else review_draw(run, "ann")
    draw_(run.path, {"size": 10, "draws": shape.draws})
    with pytest.raises(UsageError, match="somebody else drew from this run meanwhile"):
        draw_(run.path, {"size": 10, "draws": shape.draws})
    with ThreadPoolExecutor(8) as people:
        calls = [people.submit(draw_, run.path, {"size": 2}) for _ in range(8)]
    assert all(isinstance(call.exception(), UsageError | None) for call in calls)
    with RunFile.open(run.path) as again:
        places = [place for draw in again.draws() for place in draw.places]
    assert len(places) == len(set(places)) == 10 + 2 * sum(not one.exception() for one in calls)


async def test_a_label_counts_for_the_rule_that_its_author_read(make_run: Make) -> None:
    """A rule that comes second is refused, with the first one; a label by the one before is refused."""
    run = await a_run(make_run, 5)
    keep_rule(run.path, {"metric": "prose", "rule": "no lists"})
    keep_rule(run.path, {"metric": "prose", "rule": "no lists"})
    with pytest.raises(UsageError, match="somebody else wrote a rule meanwhile: no lists"):
        keep_rule(run.path, {"metric": "prose", "rule": "no headings"})
    said = {"index": 0, "metric": "prose", "verdict": "pass", "author": "ann"}
    for rule in (None, "no headings"):
        with pytest.raises(UsageError, match="the rule has changed meanwhile: no lists"):
            keep_verdict(run.path, {**said, "rule": rule})
    with RunFile.open(run.path) as again:
        assert (again.rules(), again.metric_labels()) == ({"prose": "no lists"}, [])
    keep_verdict(run.path, {**said, "rule": "no lists"})
