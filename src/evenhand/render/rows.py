"""A run as flat rows: dicts of plain values, the same keys in each, as `pandas.DataFrame` and polars' take them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from evenhand.analysis.summaries.frames import Kinds
from evenhand.core.json_shapes import is_number
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, unknown
from evenhand.core.variant import Variant
from evenhand.render.outcome import unsure

Row = dict[str, Any]

_PLACE: Kinds = {
    "trial": "whole",
    "case": "text",
    "eval": "text",
    "prompt": "text",
    "model": "text",
    "repeat": "whole",
}
TRIALS: Kinds = {
    **_PLACE,
    "description": "text",
    "input": "text",
    "expected": "text",
    "outcome": "text",
    "passed": "boolean",
    "score": "number",
    "output": "text",
    "reason": "text",
    "error": "text",
    "latency_s": "number",
    "cost_usd": "number",
    "tokens_in": "whole",
    "tokens_out": "whole",
    "calls": "whole",
    "cached": "whole",
}
"""The columns that rows of trials always have."""
OUTCOMES: Kinds = {
    **_PLACE,
    "name": "text",
    "outcome": "text",
    "passed": "boolean",
    "score": "number",
    "at_least": "number",
    "at_most": "number",
    "weight": "number",
    "metric": "text",
    "reason": "text",
    "error": "text",
    "judge": "text",
    "judge_prompt": "text",
    "confidence": "number",
    "low_confidence": "boolean",
}
"""The columns that rows of expectations always have."""


def trial_rows(trials: Iterable[TrialResult], variants: Sequence[Variant]) -> list[Row]:
    """A row for each trial. Named scores, variables and axes have columns of their own; what one lacks is None."""
    rows: list[Row] = []
    for trial in trials:
        row = _place(trial, variants)
        row |= {
            "description": trial.description,
            "input": _text(trial.input),
            "expected": _text(trial.expected),
            "outcome": trial.outcome,
            "passed": trial.passed,
            "score": trial.score,
            "output": _text(trial.output),
            "reason": trial.reason or None,
            "error": trial.error.slug if trial.error else None,
            "latency_s": trial.latency_s,
            "cost_usd": trial.cost_usd,
            "tokens_in": trial.tokens_in,
            "tokens_out": trial.tokens_out,
            "calls": trial.calls,
            "cached": trial.cached,
        }
        row |= {f"score:{name}": value for name, value in _scores(trial).items()}
        row |= {f"var:{name}": value for name, value in trial.vars.items()}
        rows.append(row)
    return _alike(rows)


def outcome_rows(trials: Iterable[TrialResult], variants: Sequence[Variant]) -> list[Row]:
    """A row for each expectation of each trial. What was attached to it has columns of its own."""
    return _alike(
        [
            _place(trial, variants) | _outcome(outcome)
            for trial in trials
            for outcome in trial.outcomes
        ]
    )


def _scores(trial: TrialResult) -> dict[str, float | None]:
    """A trial's named scores. One with a part in error is None: the rest would be the mean of other questions."""
    errors = {
        one.metric for one in trial.outcomes if one.metric and unknown(one.outcome, one.score)
    }
    scores: dict[str, float | None] = {name: float(n) for name, n in trial.named_scores.items()}
    return scores | dict.fromkeys(errors)


def _place(trial: TrialResult, variants: Sequence[Variant]) -> Row:
    """Which trial it is: what both kinds of rows begin with, and can be joined by."""
    variant = variants[trial.variant]
    axes = dict(variant.axes)
    axes.pop("model", None)  # it has a column of its own
    row: Row = {
        "trial": trial.index,
        "case": trial.case,
        "eval": variant.eval or None,
        "prompt": _text(axes.pop("prompt", variant.prompt)),
        "model": variant.model or None,
        "repeat": trial.repeat,
    }
    return row | {f"axis:{name}": value for name, value in axes.items()}


def _outcome(outcome: Outcome) -> Row:
    metadata = dict(outcome.metadata)
    confidence = metadata.get("confidence")
    if not is_number(confidence):
        confidence = None  # a user's own word for it stays with the metadata
    else:
        del metadata["confidence"]
    row: Row = {
        "name": outcome.name,
        "outcome": outcome.outcome,
        "passed": outcome.passed,
        "score": outcome.score,
        "at_least": outcome.at_least,
        "at_most": outcome.at_most,
        "weight": outcome.weight,
        "metric": outcome.metric or None,
        "reason": outcome.reason or None,
        "error": outcome.error or None,
        "judge": _text(metadata.pop("judge", None)),
        "judge_prompt": _text(metadata.pop("prompt", None)),
        "confidence": confidence,
        "low_confidence": unsure(outcome),
    }
    return row | {f"meta:{name}": value for name, value in metadata.items()}


def _alike(rows: list[Row]) -> list[Row]:
    """The rows with all keys in each, in one order, and in each column values of one kind."""
    names = dict.fromkeys(name for row in rows for name in row)
    plain = {name: _column([row.get(name) for row in rows]) for name in names}
    return [{name: plain[name][i] for name in names} for i in range(len(rows))]


def _column(values: list[Any]) -> list[Any]:
    """A column's values: booleans, whole numbers, numbers or texts; of several kinds, texts. None stays None."""
    # By their exact types, because a boolean is also an int.
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int} or kinds <= {str}:
        return values
    if kinds <= {int, float}:
        return [None if value is None else float(value) for value in values]
    return [None if value is None else _text(value) for value in values]


def _text(value: object) -> str | None:
    """A text as it is, anything else as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
