"""A run as flat rows: dicts of plain values, the same keys in each, as `pandas.DataFrame` and polars' take them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.variant import Variant
from evenhand.report.outcome import unsure

Row = dict[str, Any]

_PASSED: Mapping[State, bool | None] = {"pass": True, "fail": False}


def trial_rows(trials: Iterable[TrialResult], variants: Sequence[Variant]) -> list[Row]:
    """A row for each trial. Named scores, variables and axes have columns of their own; what one lacks is None."""
    rows: list[Row] = []
    for trial in trials:
        row = _place(trial, variants)
        row |= {
            "description": trial.description,
            "outcome": trial.outcome,
            "passed": _PASSED.get(trial.outcome),
            "score": trial.score,
            "output": _text(trial.output),
            "reason": trial.reason,
            "error": trial.error.slug if trial.error else None,
            "latency_s": trial.latency_s,
            "cost_usd": trial.cost_usd,
            "tokens_in": trial.tokens_in,
            "tokens_out": trial.tokens_out,
            "calls": trial.calls,
            "cached": trial.cached,
        }
        row |= {f"score:{name}": float(value) for name, value in trial.named_scores.items()}
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


def _place(trial: TrialResult, variants: Sequence[Variant]) -> Row:
    """Which trial it is: what both kinds of rows begin with, and can be joined by."""
    variant = variants[trial.variant]
    row: Row = {
        "trial": trial.index,
        "case": trial.case,
        "eval": variant.eval,
        "prompt": variant.prompt,
        "model": variant.model,
        "repeat": trial.repeat,
    }
    axes = {f"axis:{name}": value for name, value in variant.axes.items() if name != "model"}
    return row | axes


def _outcome(outcome: Outcome) -> Row:
    kept = dict(outcome.metadata)
    row: Row = {
        "name": outcome.name,
        "outcome": outcome.outcome,
        "passed": _PASSED.get(outcome.outcome),
        "score": outcome.score,
        "at_least": outcome.at_least,
        "at_most": outcome.at_most,
        "weight": outcome.weight,
        "metric": outcome.metric,
        "reason": outcome.reason,
        "error": outcome.error or None,
        "judge": kept.pop("judge", None),
        "judge_prompt": kept.pop("prompt", None),
        "confidence": kept.pop("confidence", None),
        "low_confidence": unsure(outcome),
    }
    return row | {f"meta:{name}": value for name, value in kept.items()}


def _alike(rows: list[Row]) -> list[Row]:
    """The rows with all keys in each, in one order, and in each column values of one kind."""
    names = dict.fromkeys(name for row in rows for name in row)
    plain = {name: _column([row.get(name) for row in rows]) for name in names}
    return [{name: plain[name][i] for name in names} for i in range(len(rows))]


def _column(values: list[Any]) -> list[Any]:
    """A column's values: booleans, whole numbers, numbers or texts; of several kinds, texts. None stays None."""
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
