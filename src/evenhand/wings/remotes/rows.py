"""A run as two tables for analysis: a row for each trial, and one for each expectation of each trial.

They are for SQL. Everything that there is of a run is in its run file, which is pushed with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from evenhand.core.encoding import encode, without_surrogates
from evenhand.core.record import Record
from evenhand.core.run import RunMeta, TrialResult
from evenhand.store.runfile import RunFile

Kind = Literal["text", "whole", "number", "truth", "moment", "json"]
Row = tuple[object, ...]

TRIALS: tuple[tuple[str, Kind], ...] = (
    ("run", "text"),
    ("title", "text"),
    ("created_at", "moment"),
    ("place", "whole"),
    ("case_id", "text"),
    ("eval", "text"),
    ("prompt", "text"),
    ("model", "text"),
    ("repeat", "whole"),
    ("outcome", "text"),
    ("passed", "truth"),
    ("score", "number"),
    ("latency_s", "number"),
    ("cost_usd", "number"),
    ("tokens_in", "whole"),
    ("tokens_out", "whole"),
    ("calls", "whole"),
    ("input", "text"),
    ("expected", "text"),
    ("output", "text"),
    ("reason", "text"),
    ("error", "text"),
    ("error_message", "text"),
    ("metadata", "json"),
)
"""`passed` is null for errors and for what does not apply: a mean of it leaves them out, and never takes them for 0."""

OUTCOMES: tuple[tuple[str, Kind], ...] = (
    ("run", "text"),
    ("place", "whole"),
    ("number", "whole"),
    ("name", "text"),
    ("metric", "text"),
    ("outcome", "text"),
    ("passed", "truth"),
    ("score", "number"),
    ("weight", "number"),
    ("at_least", "number"),
    ("at_most", "number"),
    ("reason", "text"),
    ("error", "text"),
    ("metadata", "json"),
)
"""`place` is the trial's; `number` counts its expectations from 0."""

_PASSED = {"pass": True, "fail": False}


class Rows(Record, frozen=True):
    """Rows of both tables, of some trials."""

    trials: list[Row]
    outcomes: list[Row]


def rows_of(run: RunFile, at_once: int) -> Iterator[Rows]:
    """The rows of a run, of so many trials at once; nothing for a run without trials."""
    meta, batch = run.meta, Rows([], [])
    for trial in run.trials():
        batch.trials.append(_trial(meta, trial))
        batch.outcomes.extend(_outcomes(meta, trial))
        if len(batch.trials) == at_once:
            yield batch
            batch = Rows([], [])
    if batch.trials:
        yield batch


def _trial(meta: RunMeta, trial: TrialResult) -> Row:
    variant, error = meta.variants[trial.variant], trial.error
    return (
        meta.id,
        holdable(meta.title),
        datetime.fromtimestamp(meta.created_at, UTC),
        trial.index,
        _text(trial.case),
        _text(variant.eval),
        _text(variant.prompt),
        _text(variant.model),
        trial.repeat,
        trial.outcome,
        _PASSED.get(trial.outcome),
        trial.score,
        trial.latency_s,
        trial.cost_usd,
        trial.tokens_in,
        trial.tokens_out,
        trial.calls,
        _text(trial.input),
        _text(trial.expected),
        _text(trial.output),
        _text(trial.reason),
        error.slug if error else "",
        _text(error.message) if error else "",
        _json(trial.metadata),
    )


def _outcomes(meta: RunMeta, trial: TrialResult) -> Iterator[Row]:
    for number, outcome in enumerate(trial.outcomes):
        yield (
            meta.id,
            trial.index,
            number,
            _text(outcome.name),
            _text(outcome.metric),
            outcome.outcome,
            _PASSED.get(outcome.outcome),
            outcome.score,
            outcome.weight,
            outcome.at_least,
            outcome.at_most,
            _text(outcome.reason),
            outcome.error,
            _json(outcome.metadata),
        )


def _text(value: object) -> str | None:
    """A text as tables can hold it, anything else as JSON."""
    if value is None:
        return None
    return holdable(value if isinstance(value, str) else _json(value))


def holdable(text: str) -> str:
    """A text in which U+FFFD stands for what neither tables nor manifests can hold: NUL, lone surrogates."""
    return without_surrogates(text.replace("\0", "\ufffd"))


def _json(value: object) -> str:
    return encode(value).decode("utf-8", "replace")


def names(columns: Sequence[tuple[str, Kind]]) -> list[str]:
    """The names of columns."""
    return [name for name, _ in columns]
