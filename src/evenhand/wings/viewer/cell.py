"""One trial: what its cell in the matrix shows, the whole of it with its model calls, and its steps as a timeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Annotated, Any

from evenhand.core.document import Key, as_object, filled
from evenhand.core.encoding import encode
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.record import MutableRecord, Record
from evenhand.core.run import CallRecord, TrialError, TrialResult
from evenhand.core.score import Outcome, Scale, State
from evenhand.core.scripted import came_from
from evenhand.core.step import Step, StepKind, StepStatus, depth
from evenhand.render.step_lines import blaming
from evenhand.render.trial_steps import as_json, step_row, steps_of
from evenhand.store.runfile import RunFile
from evenhand.wings.viewer.columns import text_of
from evenhand.wings.viewer.shapes import Call, Preview

OUTPUT, REASON, VARIABLE = 1_200, 400, 300
"""Characters that a cell of the matrix is sent."""
MOST = 2_000
"""Cells that are sent at once."""
BODY = 100_000
"""Bytes of a call's request and reply together that are sent with its cell; of more, the first part of each."""


class CellOutcome(Record, frozen=True, kw_only=True):
    """What one expectation came to."""

    name: str
    outcome: State
    score: float | None
    reason: str
    weight: float
    metric: str
    named: Mapping[str, float]
    metadata: Mapping[str, Any]
    error: str
    at_least: float | None
    at_most: float | None
    hint: str
    scale: Scale | None
    calls: Annotated[
        Sequence[int], Key("The model calls that were made for it: their places among the cell's.")
    ]


class JudgedCalls(Record, frozen=True, kw_only=True):
    """What a trial's judges took."""

    calls: int
    cost_usd: float | None


class Cell(Record, frozen=True, kw_only=True):
    """One trial, whole."""

    index: int
    case: str
    variant: int
    repeat: int
    outcome: State
    score: float | None
    threshold: float | None
    output: Any
    expected: Any
    reason: str
    error: TrialError | None
    outcomes: Sequence[CellOutcome]
    named_scores: Mapping[str, float]
    latency_s: float | None
    cost_usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    judged: JudgedCalls | None
    prompt: str
    vars: Mapping[str, Any]
    description: str
    metadata: Mapping[str, Any]
    answer: Mapping[str, Any]
    test: Mapping[str, Any]
    log: str
    calls: Sequence[Call]
    steps: Annotated[
        StepPage | None, Key("What its agent did; null for a trial that only asked a model once.")
    ]


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


def cell(run: RunFile, trial: TrialResult, body: int | None = None) -> Cell:
    """A trial whole, with its calls.

    Args:
        body: Bytes of each call that are enough for now; without it calls are whole, too.
    """
    judged = trial.judged
    records = run.calls_of(trial)
    places: dict[tuple[str, int], list[int]] = {}
    for place, record in enumerate(records):
        places.setdefault((record.start.key, record.start.nth), []).append(place)
    return filled(
        Cell,
        trial,
        expected=expected(trial),
        outcomes=[_outcome(outcome, places) for outcome in trial.outcomes],
        judged=JudgedCalls(calls=judged.calls, cost_usd=judged.cost_usd) if judged else None,
        vars=variables(trial),
        calls=[_call(run, record, body) for record in records],
        steps=steps_page(run, trial),
    )


def _outcome(outcome: Outcome, places: Mapping[tuple[str, int], Sequence[int]]) -> CellOutcome:
    """An outcome, with the places of its calls among the trial's: several of one that was begun again."""
    calls = [place for each in outcome.rests_on for place in places.get(each, ())]
    return filled(CellOutcome, outcome, calls=sorted(calls))


def call(run: RunFile, index: int, number: int) -> Call | None:
    """A trial's call, whole, by its place among them; None where it has no such call."""
    record = next(islice(run.calls(index), number, None), None)
    return _call(run, record, None) if record else None


def _call(run: RunFile, record: CallRecord, most: int | None) -> Call:
    start, end, answer = record.start, record.end, record.known.body
    sizes = len(start.identity), len(answer)
    clipped = most is not None and sum(sizes) > most
    return filled(
        Call,
        record.known,
        role=start.role,
        provider=start.provider,
        request=_first(start.identity, most) if clipped else as_json(start.identity),
        response=_first(answer, most) if clipped else answer.decode("utf-8", "replace"),
        origin=came_from(end.origin, start.identity, scripted=run.meta.is_scripted)
        if end
        else None,
        sizes=sizes if clipped else None,
    )


def _first(data: bytes, most: int | None) -> str:
    return data[: most and most // 2].decode("utf-8", "replace")


PAGE, TEXT = 300, 1_500
"""Steps that are sent at once, and characters of the arguments and of the result of each."""
SUMS = 12
"""So many models, tools and agents are summed up; those that took longest."""


class DrawnStep(Record, frozen=True, kw_only=True):
    """One thing that an agent did. Arguments and result are text, cut where `cut` says so."""

    place: Annotated[int, Key("Among the trial's steps, from 0, and how deep it is nested.")]
    depth: int
    kind: StepKind
    name: str
    agent: str
    status: StepStatus
    error: str
    arguments: str
    result: str
    cut: bool
    started_s: float | None
    duration_s: float | None
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None


class StepSum(MutableRecord, kw_only=True):
    """What all steps of a kind and a name took, as far as it is known."""

    kind: StepKind
    name: str
    count: int = 0
    failed: int = 0
    duration_s: float = 0.0
    cost_usd: float = 0.0


class StepPage(Record, frozen=True, kw_only=True):
    """Some of a trial's steps, and what is to be said of all of them."""

    first: Annotated[int, Key("The place of the first of these, from 0.")]
    total: int
    size: Annotated[int, Key("How many come at once.")]
    took_s: Annotated[
        float,
        Key(
            "Seconds from the beginning of the first step to the end of the last, as far as they are known."
        ),
    ]
    steps: Sequence[DrawnStep]
    sums: Annotated[Sequence[StepSum], Key("By kind and name, what took longest first.")]
    blamed: Annotated[
        Sequence[tuple[int, Sequence[str]]],
        Key(
            "The places of steps that are named by expectations which did not pass, with the names of these."
        ),
    ]


def steps_page(run: RunFile, trial: TrialResult, first: int | None = None) -> StepPage | None:
    """The steps of a trial from a place on; None for a trial that did nothing but ask a model once.

    Args:
        first: From there on; by default, so that the first step that an expectation blames is among them, or else the
            first that failed in a trial that did not pass.
    """
    if run.kept_steps(trial.index) is None:
        return None
    steps = steps_of(run, trial)
    blamed = {
        place: names for place, names in blaming(trial.outcomes).items() if 0 <= place < len(steps)
    }
    if first is None:
        first = min(blamed, default=_first_failure(steps, trial)) // PAGE * PAGE
    drawn = [drawn_step(steps, place) for place in range(first, min(first + PAGE, len(steps)))]
    ends = [(s.started_s or 0.0) + (s.duration_s or 0.0) for s in steps]
    return StepPage(
        first=first,
        total=len(steps),
        size=PAGE,
        took_s=max(ends, default=0.0),
        steps=drawn,
        sums=_sums(steps),
        blamed=[(place, names[:5]) for place, names in islice(sorted(blamed.items()), PAGE)],
    )


def drawn_step(steps: Sequence[Step], place: int) -> DrawnStep:
    """A step as a line of the page."""
    step = steps[place]
    arguments, result = _text(step.arguments), _text(step.result)
    return filled(
        DrawnStep,
        step,
        place=place,
        depth=depth(steps, place),
        name=step.name[:TEXT],
        agent=step.agent[:TEXT],
        error=step.error[:TEXT],
        arguments=arguments[:TEXT],
        result=result[:TEXT],
        cut=max(map(len, (arguments, result, step.name, step.error, step.agent))) > TEXT,
    )


def whole_step(run: RunFile, trial: TrialResult, place: int) -> dict[str, Any] | None:
    """A step whole, in the keys of the document; None where there is none at this place."""
    steps = steps_of(run, trial)
    return as_object(step_row(steps[place])) if place < len(steps) else None


def _first_failure(steps: Sequence[Step], trial: TrialResult) -> int:
    """The place of the first step that failed, of a trial that did not pass; 0 for none."""
    if trial.outcome == "pass":
        return 0
    return next((place for place, step in enumerate(steps) if step.status == "error"), 0)


def _sums(steps: Sequence[Step]) -> list[StepSum]:
    sums: dict[tuple[StepKind, str], StepSum] = {}
    for step in steps:
        if step.kind == "message":
            continue
        key = step.kind, step.name[:80]
        one = sums.setdefault(key, StepSum(kind=key[0], name=key[1]))
        one.count += 1
        one.failed += step.status == "error"
        one.duration_s += step.duration_s or 0.0
        one.cost_usd += step.cost_usd or 0.0
    longest = sorted(sums.values(), key=lambda one: (-one.duration_s, -one.count))
    return longest[:SUMS]


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return text_of(value)
    except (TypeError, ValueError):
        return encode(value, ordered=False).decode("utf-8", "replace")
