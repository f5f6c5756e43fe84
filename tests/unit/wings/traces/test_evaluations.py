"""Evaluations of traces are outcomes: a verdict where the label is one, a number that decides nothing elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs import Make, result
from tests.unit.wings.traces.test_broken_traces import T, imported, request, said, span

from evenhand.core.score import Outcome
from evenhand.store.labels.label import NewLabel
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.run import run_of
from evenhand.wings.traces.verdicts import events_of

EVENT = "gen_ai.evaluation.result"
KEYS = {"name": "name", "value": "score.value", "label": "score.label", "why": "explanation"}


def attributes(**said_of: Any) -> list[dict[str, Any]]:
    """What an event says, as OTLP writes it: by our short names, or the attributes' own with two underscores."""
    rows: list[dict[str, Any]] = []
    for key, value in said_of.items():
        name = f"gen_ai.evaluation.{KEYS[key]}" if key in KEYS else key.replace("__", ".")
        kind = "stringValue" if isinstance(value, str) else "doubleValue"
        rows.append({"key": name, "value": {kind: value}})
    return rows


def event(**said_of: Any) -> dict[str, Any]:
    """An event of a span."""
    return {"name": EVENT, "attributes": attributes(**said_of)}


def logs(*rows: dict[str, Any]) -> dict[str, Any]:
    """Log records."""
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": list(rows)}]}]}


def record(trace: str = T, span_id: str = "a", **said_of: Any) -> dict[str, Any]:
    """An event as a log record."""
    about = {"traceId": trace, "spanId": span_id}
    return {**about, "eventName": EVENT, "attributes": attributes(**said_of)}


@pytest.mark.parametrize("logged", [False, True])
def test_labels_that_are_verdicts_decide_and_all_else_is_kept(tmp_path: Path, logged: bool):
    """As events of a span and as log records, also of the trace alone: the conventions list pass and fail as labels."""
    evaluations: list[dict[str, Any]] = [
        {"name": "polite", "label": "pass", "value": 4.0, "why": "thanks"},
        {"name": "correct", "label": "Fail"},
        {"name": "relevance", "label": "relevant", "value": 1.0},
        {"name": "tone", "label": "dry"},
    ]
    if logged:
        rows = [record(span_id="a" if i else "", **one) for i, one in enumerate(evaluations)]
        (trial,), _ = imported(tmp_path, request(span("a")), logs(*rows))
    else:
        spans = span("a", events=[event(**one) for one in evaluations])
        (trial,), _ = imported(tmp_path, request(spans))
    assert (trial.outcome, trial.score) == ("fail", 0.5)
    found = {one.name: (one.outcome, one.score) for one in trial.outcomes}
    assert found == {
        "polite": ("pass", 4.0),
        "correct": ("fail", 0.0),
        "relevance": ("not_applicable", None),
        "tone": ("not_applicable", None),
    }
    assert trial.named_scores["relevance"] == 1.0
    polite, _, relevance, tone = trial.outcomes
    assert (polite.reason, relevance.metadata["label"]) == ("thanks", "relevant")
    assert tone.metadata["value"] == "dry"


def test_numbers_alone_decide_nothing(tmp_path: Path):
    """Whether 1 is good depends on the evaluator."""
    (trial,), _ = imported(tmp_path, request(span("a", events=[event(name="r", value=1.0)])))
    assert (trial.outcome, trial.score, trial.named_scores) == ("not_applicable", None, {"r": 1.0})


def test_an_evaluation_in_error_leaves_its_trace_open(tmp_path: Path):
    """And a trace that failed is in error whatever was said of it."""
    broken = [event(name="q", error__type="timeout"), event(name="p", label="pass")]
    (trial,), _ = imported(tmp_path, request(span("a", events=broken)))
    assert (trial.outcome, trial.score, trial.outcomes[0].outcome) == ("error", None, "error")
    assert "timeout" in trial.error.message
    failed = span("a", events=[event(name="p", label="pass")], status={"code": 2, "message": "no"})
    (trial,), _ = imported(tmp_path, request(failed))
    assert (trial.outcome, trial.score, trial.error.message) == ("error", None, "no")


def test_an_evaluation_that_is_told_twice_counts_once(tmp_path: Path):
    """As an event and as a log record of the same span. Those of two spans are two."""
    spans = span("a", events=[event(name="p", label="pass")])
    rows = [record(name="p", label="pass"), record(span_id="b", name="p", label="fail")]
    (trial,), _ = imported(tmp_path, request(spans), logs(*rows))
    assert [one.outcome for one in trial.outcomes] == ["pass", "fail"]


def test_evaluations_without_their_trace_are_noted(tmp_path: Path):
    """Of no trace, and of one that is not in the files."""
    rows = [record(trace="", name="p", label="pass"), record("b" * 32, name="p", label="fail")]
    (trial,), notes = imported(tmp_path, request(span("a")), logs(*rows))
    assert (trial.outcome, trial.outcomes) == ("not_applicable", ())
    texts = " ".join(said(notes, "left_out"))
    assert "that name no trace" in texts
    assert "of traces that are not in the files" in texts


def test_with_its_evaluations_it_is_another_run(tmp_path: Path):
    """They may come later than the traces; their order makes no difference."""
    ids: list[str] = []
    both = [record(name="p", label="pass"), record(name="q", label="fail")]
    for rows in ([], both, both[::-1], both[:1]):
        imported(tmp_path, request(span("a")), logs(*rows))
        ids.append(run_of(sorted(tmp_path.glob("*.jsonl")))[0].meta.id)
    assert ids[1] == ids[2]
    assert len({*ids}) == 3


async def test_what_was_exported_comes_back(make_run: Make, tmp_path: Path):
    """Outcomes and who judged; what people said are labels; what the trial came to follows from its outcomes."""
    outcomes = (Outcome("p", "pass", 1.0), Outcome("q", "error", None, "no answer", error="judge"))
    run = await make_run([replace(result(0), outcomes=outcomes)])
    append_labels(run.path, [NewLabel(0, "verdict", "fail", "ann")])
    with RunFile.open(run.path) as again:
        sent = [dict(one.attributes) for one in events_of(again)]
    rows = [
        {
            "traceId": T,
            "spanId": "a",
            "eventName": EVENT,
            "attributes": [
                {
                    "key": key,
                    "value": {"stringValue" if isinstance(value, str) else "doubleValue": value},
                }
                for key, value in one.items()
            ],
        }
        for one in sent
    ]
    (trial,), _ = imported(tmp_path, request(span("a")), logs(*rows))
    assert [(one.name, one.outcome, one.score) for one in trial.outcomes] == [
        ("p", "pass", 1.0),
        ("q", "error", None),
    ]
    traced, _ = run_of(sorted(tmp_path.glob("*.jsonl")))
    list(traced.trials())
    assert [(one.author, one.value) for one in traced.labels()] == [("ann", "fail")]
