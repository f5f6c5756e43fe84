"""Evaluations of traces as outcomes: events `gen_ai.evaluation.result`, of a span or logged for one.

Attributes: the GenAI semantic conventions 1.37 to 1.41. They leave open what a label or a number means, and list `pass`
and `fail` among the labels: these are verdicts, everything else decides nothing. What `evenhand export --to otlp` sent
says who evaluated, too: people's verdicts are labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from evenhand.core.encoding import decode, encode
from evenhand.core.expect import share_passed
from evenhand.core.json_shapes import as_mapping
from evenhand.core.run import TrialError, TrialResult
from evenhand.core.score import Outcome
from evenhand.doors.importers.foreign_scores import ForeignScore, outcome_of
from evenhand.doors.spans.span import RawSpan
from evenhand.languages.documents.foreign import Notes
from evenhand.store.labels.label import NewLabel

EVENT = "gen_ai.evaluation.result"
TRIAL = "evenhand.verdict"
"""The name of what a trial came to as a whole, which its outcomes say."""
WHOLE = "verdict"
"""The name of what people said of a trial as a whole."""
_START = "gen_ai.evaluation."
_VERDICTS = {"pass": True, "fail": False}
_KEYS = (
    f"{_START}name",
    f"{_START}score.value",
    f"{_START}score.label",
    f"{_START}explanation",
    "error.type",
    "evenhand.evaluator.kind",
    "evenhand.evaluator.name",
)

Evaluation = Mapping[str, Any]
"""The attributes of an event that are read, and the id of its span."""


def evaluations_in(span: RawSpan) -> Iterator[bytes]:
    """The evaluations that a span holds, or that were logged for it, each as bytes."""
    for event in span.events:
        if event.name == EVENT:
            known = {key: event.attributes[key] for key in _KEYS if key in event.attributes}
            yield encode({**known, "span": span.id})


def judged(
    trial: TrialResult, items: Iterable[bytes], notes: Notes
) -> tuple[TrialResult, list[NewLabel]]:
    """A trace's trial with its evaluations, and what people said of it. A trace that failed is in error all the same.

    Args:
        trial: As its spans tell it.
        items: What `evaluations_in` gave; of two that say the same, one counts.
        notes: What became of them.
    """
    outcomes: list[Outcome] = []
    labels: list[NewLabel] = []
    for one in map(_decoded, dict.fromkeys(items)):
        name = _text(one, f"{_START}name")
        if name == TRIAL:
            continue
        if _text(one, "evenhand.evaluator.kind") == "human":
            labels += _labels(one, trial.index, name)
        else:
            outcomes.append(outcome_of(_score(one, name), notes))
    if not outcomes:
        return trial, labels
    verdict = share_passed(outcomes)
    scored = replace(trial, outcomes=tuple(outcomes), named_scores=verdict.named_scores)
    if trial.outcome == "error":
        return scored, labels
    broken = verdict.outcome == "error"
    settled = replace(
        scored,
        outcome=verdict.outcome,
        score=None if broken else verdict.score,
        reason=verdict.reason,
        error=TrialError("imported", verdict.reason) if broken else None,
    )
    return settled, labels


def _decoded(data: bytes) -> Evaluation:
    value = decode(data)
    return as_mapping(value)


def _text(one: Evaluation, key: str) -> str:
    value = one.get(key)
    return value.strip() if isinstance(value, str) else ""


def _score(one: Evaluation, name: str) -> ForeignScore:
    value, label = one.get(f"{_START}score.value"), _text(one, f"{_START}score.label")
    about = {
        "label": label,
        "span": _text(one, "span"),
        "judge": _text(one, "evenhand.evaluator.name")
        if _text(one, "evenhand.evaluator.kind") == "model"
        else "",
    }
    return ForeignScore(
        name=name or "evaluation",
        value=label or None if value is None else value,
        where=EVENT,
        reason=_text(one, f"{_START}explanation"),
        passed=_VERDICTS.get(label.casefold()),
        error=_text(one, "error.type"),
        metadata={key: text for key, text in about.items() if text},
    )


def _labels(one: Evaluation, index: int, name: str) -> Iterator[NewLabel]:
    verdict = _text(one, f"{_START}score.label")
    if verdict in _VERDICTS:
        yield NewLabel(
            index=index,
            field="verdict",
            value=verdict,
            author=_text(one, "evenhand.evaluator.name"),
            metric="" if name == WHOLE else name,
        )
