"""Labelling pairs over HTTP: what a person is shown, and what is refused."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
from tests.runs import Make
from tests.unit.analysis.trust.test_standings import NAME, VARIANTS, drawn

from evenhand.core.errors import EvenhandError
from evenhand.store.labels.stored_draws import add_pair_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.blind_verdicts import (
    PairDrawShape,
    draw_more_pairs,
    keep_pair_rule,
    keep_preference,
    pair_draws,
    rankings_of,
)


def seen_by(run: RunFile, author: str) -> PairDrawShape:
    """The one ranking, as this person is shown it."""
    with RunFile.open(run.path) as again:
        (shape,) = pair_draws(again, author)
    return shape


async def test_a_person_is_shown_the_pairs_as_they_were_drawn_and_nothing_of_the_judge(
    make_run: Make,
) -> None:
    """Before a draw nothing; then the texts in the drawn order, each person's own answers, and the rule."""
    run = await make_run(drawn(20, [0.7, 1.0, -1.7]), VARIANTS[:3])
    before = seen_by(run, "ann")
    assert (before.ranking, before.judged, before.items, before.worth) == (NAME, 60, [], "")
    draw_more_pairs(run.path, {"ranking": NAME, "size": 8})
    keep_pair_rule(run.path, {"ranking": NAME, "rule": "  Helps more. "})
    with RunFile.open(run.path) as again:
        (draw,) = again.pair_draws()
    one = {"ranking": NAME, "author": "ann"}
    first, second = draw.pairs[0]
    keep_preference(run.path, {**one, "first": first, "second": second, "answer": "second"})
    mine, theirs = seen_by(run, "ann"), seen_by(run, "bo")
    assert [(item.first, item.second) for item in mine.items] == list(draw.pairs)
    assert [item.answer for item in mine.items] == ["second", *[None] * 7]
    assert {item.answer for item in theirs.items} == {None}
    assert (mine.rule, mine.left) == ("Helps more.", 52)
    assert mine.worth == f"{NAME}: 1 label in all; 29 more are needed"
    with RunFile.open(run.path) as again:
        texts = {trial.index: trial.output for trial in again.trials()}
    assert mine.items[0].outputs == (texts[first], texts[second])
    shown = json.dumps([asdict(item) for item in mine.items])
    for hidden in ("judge-1", "tie", "ranking", *(variant.prompt for variant in VARIANTS[:3])):
        assert f'"{hidden}"' not in shown
    add_pair_labels(run.path, "ann", [((second, first), NAME, "second")])
    assert seen_by(run, "ann").items[0].answer == "first", "it was seen the other way round"
    keep_preference(run.path, {**one, "first": first, "second": second, "answer": None})
    assert seen_by(run, "ann").items[0].answer is None


async def test_what_is_no_preference_about_a_compared_pair_is_refused(make_run: Make) -> None:
    """And nothing of it is kept."""
    run = await make_run(drawn(10, [0.7, -0.7]), VARIANTS[:2])
    good = {"ranking": NAME, "author": "ann", "first": 0, "second": 1, "answer": "tie"}
    for wrong, told in [
        ({"ranking": "another"}, "no ranking 'another'"),
        ({"author": ""}, "author"),
        ({"answer": "both"}, "answer: first, second, tie or null"),
        ({"second": 3}, "didn't compare 0 and 3"),
        ({"second": 0}, "didn't compare"),
        ({"first": False, "second": True}, "places in the plan"),
        ({"first": [0]}, "places in the plan"),
        ({"second": None}, "places in the plan"),
    ]:
        with pytest.raises(EvenhandError, match=told):
            keep_preference(run.path, {**good, **wrong})
    for size in (0, "7", 1.0, True, 10**9):
        with pytest.raises(EvenhandError, match="size"):
            draw_more_pairs(run.path, {"ranking": NAME, "size": size})
    with pytest.raises(EvenhandError, match="rule"):
        keep_pair_rule(run.path, {"ranking": NAME, "rule": " "})
    with RunFile.open(run.path) as again:
        assert (again.pair_labels(), again.pair_draws(), again.rules()) == ([], [], {})


async def test_a_run_without_rankings_has_no_pairs_to_label(make_run: Make) -> None:
    """Nor has a probe."""
    trials = drawn(5, [0.7, -0.7])
    probe = await make_run(trials, VARIANTS[:2], settings={"probe": {}})
    assert (rankings_of(probe), pair_draws(probe, "ann")) == ([], [])
    with pytest.raises(EvenhandError, match="is a probe"):
        draw_more_pairs(probe.path, {"ranking": NAME, "size": 1})
