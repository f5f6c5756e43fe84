"""One trial: what its cell in the matrix shows, and the whole of it with its model calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.run import CallRecord, TrialResult
from evenhand.core.score import Outcome
from evenhand.render.call_rows import as_json
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import text_of
from evenhand.wings.viewer.shapes import Call, Preview
from evenhand.wings.viewer.timeline import steps_page

OUTPUT, REASON, VARIABLE = 1_200, 400, 300
"""Characters that a cell of the matrix is sent."""
MOST = 2_000
"""Cells that are sent at once."""
BODY = 100_000
"""Bytes of a call's request and reply together that are sent with its cell; of more, the first part of each."""


def previews(run: RunFile, places: Iterable[int]) -> list[Preview]:
    """What the matrix shows of these trials; those that are not settled are left out."""
    trials = (run.trial(place) for place in places)
    return [preview(trial) for trial in trials if trial is not None]


def preview(trial: TrialResult) -> Preview:
    """What the matrix shows of a trial."""
    output = text_of(trial.output)
    return Preview(
        index=trial.index,
        output=output[:OUTPUT],
        json=not isinstance(trial.output, (str, type(None))),
        clipped=len(output) > OUTPUT,
        reason=(trial.error.message if trial.error else trial.reason)[:REASON],
        vars={name: text_of(value)[:VARIABLE] for name, value in variables(trial).items()},
        expected=text_of(expected(trial))[:VARIABLE],
    )


def variables(trial: TrialResult) -> Mapping[str, Any]:
    """A trial's variables, and its case's input where that is none of them."""
    if trial.input is None or "input" in trial.vars:
        return trial.vars
    return {"input": trial.input, **trial.vars}


def expected(trial: TrialResult) -> object:
    """What a right answer is: as the case says, or a variable of that name, or what an `equals` asks for; else None."""
    if trial.expected is not None:
        return trial.expected
    if "expected" in trial.vars:
        return trial.vars["expected"]
    asserts = trial.test.get("assert")
    for item in asserts if is_array(asserts) else ():
        if is_mapping(item) and item.get("type") == "equals":
            return item.get("value")
    return None


def cell(run: RunFile, trial: TrialResult, body: int | None = None) -> dict[str, Any]:
    """A trial whole, with its calls: the page's `Cell`.

    Args:
        run: Its run.
        trial: It.
        body: Bytes of each call that are enough for now; without it calls are whole, too.
    """
    judged = trial.judged
    records = run.calls_of(trial)
    places: dict[tuple[str, int], list[int]] = {}
    for place, record in enumerate(records):
        places.setdefault((record.start.key, record.start.nth), []).append(place)
    return {
        "index": trial.index,
        "case": trial.case,
        "variant": trial.variant,
        "repeat": trial.repeat,
        "outcome": trial.outcome,
        "score": trial.score,
        "threshold": trial.threshold,
        "output": trial.output,
        "expected": expected(trial),
        "reason": trial.reason,
        "error": asdict(trial.error) if trial.error else None,
        "outcomes": [_outcome(outcome, places) for outcome in trial.outcomes],
        "named_scores": trial.named_scores,
        "latency_s": trial.latency_s,
        "cost_usd": trial.cost_usd,
        "tokens_in": trial.tokens_in,
        "tokens_out": trial.tokens_out,
        "judged": {"calls": judged.calls, "cost_usd": judged.cost_usd} if judged else None,
        "prompt": trial.prompt,
        "vars": variables(trial),
        "description": trial.description,
        "metadata": trial.metadata,
        "answer": trial.answer,
        "test": trial.test,
        "log": trial.log,
        "calls": [_call(record, body) for record in records],
        "steps": steps_page(run, trial),
    }


def _outcome(
    outcome: Outcome, places: Mapping[tuple[str, int], Sequence[int]]
) -> Mapping[str, Any]:
    """An outcome, with the places of its calls among the trial's: several of one that was begun again."""
    fields = asdict(outcome)
    calls = [place for each in fields.pop("rests_on") for place in places.get(each, ())]
    return {**fields, "calls": sorted(calls)}


def call(run: RunFile, index: int, number: int) -> Call | None:
    """A trial's call, whole, by its place among them; None where it has no such call."""
    record = next(islice(run.calls(index), number, None), None)
    return _call(record, None) if record else None


def _call(record: CallRecord, most: int | None) -> Call:
    start, end = record.start, record.end
    answer = end.body if end else b""
    sizes = len(start.identity), len(answer)
    clipped = most is not None and sum(sizes) > most
    return Call(
        role=start.role,
        provider=start.provider,
        model=end.model if end else "",
        request=_first(start.identity, most) if clipped else as_json(start.identity),
        response=_first(answer, most) if clipped else answer.decode("utf-8", "replace"),
        origin=end.origin if end else None,
        latency_s=end.latency_s if end else None,
        tokens_in=end.tokens_in if end else None,
        tokens_out=end.tokens_out if end else None,
        cost_usd=end.cost_usd if end else None,
        attempts=end.attempts if end else 0,
        wasted=end.wasted if end else 0,
        error=end.error if end else "",
        message=end.message if end else "",
        sizes=sizes if clipped else None,
    )


def _first(data: bytes, most: int | None) -> str:
    return data[: most and most // 2].decode("utf-8", "replace")
