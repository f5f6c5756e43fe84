"""Outcomes as events: what is said of each, and of whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.runs import Make, result
from tests.unit.render.test_judge_trust import judge_call

from evenhand.core.score import Outcome
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.verdicts import EvaluationEvent, events_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
LABEL = "gen_ai.evaluation.score.label"


async def events(make: Make, *outcomes: Outcome, **more: Any) -> list[EvaluationEvent]:
    """The events of a run of one trial with these outcomes."""
    trial = replace(result(0), outcomes=outcomes, **more)
    return list(events_of(await make([trial], calls=[judge_call()])))


async def test_an_error_has_a_type_and_no_label(make_run: Make):
    """A label would count among verdicts."""
    broken, passed, _ = await events(
        make_run, Outcome("a", "error", None, error="judge"), Outcome("b", "pass", 1.0)
    )
    assert broken.attributes["error.type"] == "judge"
    assert LABEL not in broken.attributes
    assert passed.attributes[LABEL] == "pass"
    assert "error.type" not in passed.attributes


async def test_the_model_that_an_outcome_rests_on_evaluated(make_run: Make):
    """And code did where it rests on none."""
    judged, computed, _ = await events(
        make_run,
        Outcome("a", "pass", 1.0, rests_on=(("key", 0),)),
        Outcome("b", "pass", 1.0),
    )
    who = [
        (one.attributes["evenhand.evaluator.kind"], one.attributes["evenhand.evaluator.name"])
        for one in (judged, computed)
    ]
    assert who == [("model", "judge-1"), ("code", "b")]


@pytest.mark.parametrize(
    ("ids", "place"),
    [
        ({"id": TRACE, "span": SPAN}, (TRACE, SPAN)),
        ({"id": TRACE[1:], "span": SPAN[1:]}, ("", "")),
        ({"id": "0" * 32, "span": "0" * 16}, ("", "")),
        ({"id": TRACE.upper(), "span": "order-1042-of-ann"[:16]}, ("", "")),
        ({"id": 7}, ("", "")),
        (None, ("", "")),
    ],
)
async def test_only_opentelemetrys_ids_link_an_event(
    make_run: Make, ids: Any, place: tuple[str, str]
):
    """Other tools' ids have other forms, and would end the export."""
    first, *_ = await events(make_run, Outcome("b", "pass", 1.0), metadata={"trace": ids})
    assert (first.trace, first.span) == place


async def test_what_people_took_back_is_not_sent(make_run: Make):
    """The last word of each person counts."""
    run = await make_run([result(0)])
    said = [("ann", "pass"), ("bo", "pass"), ("ann", None), ("bo", "fail")]
    append_labels(run.path, [NewLabel(0, "verdict", value, author) for author, value in said])
    with RunFile.open(run.path) as again:
        sent = [one.attributes for one in events_of(again)]
    people = [one for one in sent if one["evenhand.evaluator.kind"] == "human"]
    assert [(one["evenhand.evaluator.name"], one[LABEL]) for one in people] == [("bo", "fail")]


async def test_what_people_said_of_a_judged_metric_is_sent_under_its_name(make_run: Make):
    """Beside what they said of the whole trial; the last word on each."""
    run = await make_run([result(0)])
    words = [("tone", "fail"), ("tone", "pass"), ("facts", "fail"), ("", "pass")]
    labels = [NewLabel(0, "verdict", value, "ann", metric=metric) for metric, value in words]
    append_labels(run.path, labels)
    with RunFile.open(run.path) as again:
        sent = [one.attributes for one in events_of(again)]
    people = [one for one in sent if one["evenhand.evaluator.kind"] == "human"]
    assert {(one["gen_ai.evaluation.name"], one[LABEL]) for one in people} == {
        ("tone", "pass"),
        ("facts", "fail"),
        ("verdict", "pass"),
    }
