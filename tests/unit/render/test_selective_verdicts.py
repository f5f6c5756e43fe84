"""The judge decides where it is sure enough; the rest is for a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.runs import Make
from tests.unit.render.test_judge_trust import a_run, label

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.judgements.judged import certainty_of
from evenhand.analysis.trust.labels.drawing import draw
from evenhand.analysis.trust.selective import items_for_people, lines_of, selective_verdicts
from evenhand.core.document import as_object
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.calibration_text import calibration_lines
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile


def sure_or_not(trial: TrialResult) -> TrialResult:
    """Of every fourth output the judge says itself that it is not sure."""
    sure = 0.3 if trial.index % 4 == 0 else 1.0
    outcome = trial.outcomes[0]
    return replace(
        trial, outcomes=(replace(outcome, metadata={**outcome.metadata, "confidence": sure}),)
    )


def people(i: int) -> bool:
    """They agree with the judge wherever it is sure, and with half of the others."""
    return (i % 10 < 7) is not (i % 8 == 0)


async def labelled_run(make: Make) -> RunFile:
    """400 outputs, 120 of them drawn and labelled."""
    return label(await a_run(make, 400, change=sure_or_not), people, size=120)


async def test_a_judge_decides_where_it_is_sure_and_the_rest_is_a_queue_for_people(make_run: Make):
    """The queue has none of the draw, and the least sure first; at a high risk there is nothing in it."""
    run = await labelled_run(make_run)
    (one,) = selective_verdicts(run, 0.05).values()
    assert (one.items, one.labels, one.accepted) == (400, 120, 300)
    assert set(one.for_people) == set(range(0, 400, 4))
    assert (
        "decides 300 of 400 outputs at a risk of 5 % (95 % confidence); 100 outputs are for a person"
        in one.line()
    )
    drawn = set(run.draws()[0].places)
    queue = items_for_people(run, 0.05)
    assert {item.trial.index for item in queue} == set(range(0, 400, 4)) - drawn
    assert {item.inclusion for item in queue} == {0.0}
    assert items_for_people(run, 0.05, ["another"]) == []
    assert items_for_people(run, 0.3) == []
    assert json.dumps(as_object(one.row()))
    text = "\n".join(calibration_lines(calibrate(run), selective_verdicts(run, 0.05)))
    assert f"next: evenhand label {run.meta.id[:10]} --unsure 0.05 --metric prose" in text


async def test_before_there_are_labels_it_says_how_many_it_takes(make_run: Make):
    """And with too few of them, about how many it takes; where people disagree too often, that no number would do."""
    run = await a_run(make_run, 200, change=sure_or_not)
    (one,) = selective_verdicts(run, 0.1).values()
    assert "takes 38 labels or more" in one.line()
    (few,) = selective_verdicts(label(run, people, size=12), 0.1).values()
    assert "people disagree with 17 % of 12 labelled verdicts; label more" in few.line()
    agreed = label(await a_run(make_run, 200), lambda i: i % 10 < 7, size=12)
    (right,) = selective_verdicts(agreed, 0.1).values()
    assert "that takes about 38 labels, not 12" in right.line()
    assert "add cases" not in right.line()
    assert few.row().accepted == 0
    coin = label(await a_run(make_run, 200), lambda i: i % 2 == 0, size=100)
    (none,) = selective_verdicts(coin, 0.1).values()
    assert "accept a higher risk" in none.line()


async def test_no_more_labels_are_advised_than_there_are_outputs(make_run: Make):
    """Of 24 outputs nobody labels 38: more cases, or a higher risk, are all that helps."""
    run = await a_run(make_run, 24)
    more = "there are 24 outputs, so add cases, or accept a higher risk"
    (one,) = selective_verdicts(run, 0.1).values()
    assert f"takes 38 labels or more; {more}" in one.line()
    agreed = label(await a_run(make_run, 24), lambda i: i % 10 < 7, size=12)
    (few,) = selective_verdicts(agreed, 0.1).values()
    assert f"takes about 38 labels, not 12; {more}" in few.line()
    (held,) = selective_verdicts(agreed, 0.9).values()
    assert "add cases" not in held.line()


@pytest.mark.parametrize(
    ("metadata", "score", "certainty"),
    [
        ({}, None, 1.0),
        ({"confidence": 0.8}, None, 0.8),
        ({"confidence": 0.8}, 0.9, 0.8),
        ({"agreement": 2 / 3}, None, 1 / 3),
        ({"consistent": False}, None, 0.0),
        ({"jury": [{"confidence": 0.5}, {"confidence": 0.9}, {"error": "x"}]}, None, 0.7),
        ({"confidence": "high", "jury": ["odd"]}, 4.0, 1.0),
        ({}, 0.5, 0.0),
    ],
)
def test_certainty_is_the_mean_of_what_there_is_to_go_by(
    metadata: dict[str, object], score: float | None, certainty: float
):
    """Stated confidence, agreement of a jury, both orders, distance from the middle."""
    outcome = Outcome("o", "pass", score, metadata=metadata)
    assert certainty_of(outcome) == pytest.approx(certainty)


async def test_repeats_that_disagree_make_a_verdict_less_sure(make_run: Make):
    """Two repeats of a case, one passed and one failed, are for a person."""
    run = await a_run(
        make_run,
        200,
        change=lambda t: replace(t, case=f"case {t.index // 2}", repeat=t.index % 2),
        repeats=2,
    )
    run = label(run, lambda i: i % 10 < 7, size=150)
    (one,) = selective_verdicts(run, 0.05).values()
    split = {i for i in range(200) if (i % 10 < 7) is not ((i ^ 1) % 10 < 7)}
    assert split
    assert one.threshold is not None
    assert set(one.for_people) <= split
    assert one.labels == len({place // 2 for place in run.draws()[0].places}) < 150


async def test_labels_that_are_missing_count_as_wrong_until_they_are_there(make_run: Make):
    """So that people may look after each label: 40 of 120 labels say too little, whatever they say."""
    run = await a_run(make_run, 400, change=sure_or_not)
    places = draw(run, 120, seed=1).places
    word = {True: "pass", False: "fail"}
    labels = [(place, "prose", word[people(place)]) for place in places[:40]]
    add_metric_labels(run.path, "ann", labels)  # type: ignore[arg-type]
    with RunFile.open(run.path) as few:
        (one,) = selective_verdicts(few, 0.05).values()
        assert (one.labels, one.missing, one.threshold) == (40, 80, None)
        text = "\n".join(lines_of(one, "01A"))
    assert "80 labels of the draw still missing: they count as wrong verdicts until then" in text


def of_documents(size: int) -> Callable[[TrialResult], TrialResult]:
    """Puts so many outputs into each document."""
    return lambda trial: replace(trial, vars={**trial.vars, "doc": f"d{trial.index // size}"})


BY_DOCUMENT = (Variant(0, "p", "m", cluster="doc"),)


async def test_labels_of_one_cluster_count_once_at_a_risk(make_run: Make):
    """120 labels of twenty documents are twenty: at 10 % they decide nothing, as twenty labels would."""
    run = await a_run(make_run, 400, change=of_documents(20), variants=BY_DOCUMENT)
    (one,) = selective_verdicts(run, 0.1).values()
    assert (
        "takes 38 labels of different clusters or more; there are 20 clusters, so add clusters"
        in one.line()
    )
    run = label(run, lambda i: i % 10 < 7, size=120)
    (one,) = selective_verdicts(run, 0.1).values()
    assert (one.units, one.labels, one.threshold) == (20, 20, None)
    assert (
        "takes about 38 labels of different clusters, not 20; there are 20 clusters" in one.line()
    )
    alone = label(await a_run(make_run, 400), lambda i: i % 10 < 7, size=120)
    (one,) = selective_verdicts(alone, 0.1).values()
    assert one.accepted == 400
    assert "(95 % confidence); " in one.line()


async def test_what_stands_says_that_each_cluster_counts_once(make_run: Make):
    """Of a hundred documents, the first label of each counts."""
    run = await a_run(make_run, 400, change=of_documents(4), variants=BY_DOCUMENT)
    run = label(run, lambda i: i % 10 < 7, size=200)
    (one,) = selective_verdicts(run, 0.1).values()
    assert one.labels == len({place // 4 for place in run.draws()[0].places}) < 200
    assert "at a risk of 10 % (95 % confidence; each cluster counts once); " in one.line()


async def test_a_risk_holds_where_a_judge_is_wrong_on_whole_documents(make_run: Make):
    """Wrong on one document in ten, it isn't said to be wrong on at most 10 % by two hundred labels of twenty."""
    run = await a_run(make_run, 400, change=of_documents(20), variants=BY_DOCUMENT)
    run = label(run, lambda i: (i % 10 < 7) is not (i < 20), size=200)
    (one,) = selective_verdicts(run, 0.1).values()
    assert (one.labels, one.wrong, one.accepted) == (20, 1, 0)


async def test_repeats_of_few_cases_are_no_more_cases(make_run: Make):
    """Of 40 outputs of eight cases nobody labels 38 different cases."""
    run = await a_run(
        make_run,
        40,
        change=lambda t: replace(t, case=f"case {t.index // 5}", repeat=t.index % 5),
        repeats=5,
    )
    (one,) = selective_verdicts(run, 0.1).values()
    line = one.line()
    assert "takes 38 labels of different cases or more; there are 8 cases, so add cases" in line


async def test_outputs_on_which_people_are_split_count_as_wrong_verdicts(make_run: Make):
    """Either of them may be right: left out, the hard outputs would make a judge look surer than it is."""
    run = label(await a_run(make_run, 200), lambda i: i % 10 < 7, size=100)
    (one,) = selective_verdicts(run, 0.1).values()
    assert (one.accepted, one.split, one.notes) == (200, 0, [])
    hard = run.draws()[0].places[:12]
    other = [(place, "prose", "fail" if place % 10 < 7 else "pass") for place in hard]
    add_metric_labels(run.path, "bob", other)  # type: ignore[arg-type]
    with RunFile.open(run.path) as again:
        (one,) = selective_verdicts(again, 0.1).values()
    assert (one.accepted, one.labels, one.wrong, one.split) == (0, 100, 12, 12)
    assert "people disagree with or are split on 12 % of 100 labelled verdicts" in one.line()
    (note,) = one.notes
    assert note == "people are split on 12 labelled outputs: the verdicts on these count as wrong"
