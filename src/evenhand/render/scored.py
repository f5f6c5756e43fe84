"""What `score` returns: each metric's number with its reason, what they come to together, and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from evenhand.analysis.summaries.frames import Framed, Kinds, Table
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome, State
from evenhand.core.wording.words import (
    calls_of,
    clip,
    count,
    money,
    rounded,
    safe,
    tokens,
    unlike_whole,
)
from evenhand.scorers.metric import overall, overall_of

METRICS: Kinds = {
    "metric": "text",
    "value": "number",
    "outcome": "text",
    "n": "whole",
    "low": "number",
    "high": "number",
    "best": "text",
    "reason": "text",
    "error": "text",
}
"""The columns of a score's rows."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of one answer.

    Attributes:
        value: The number; None where it did not apply, or could not be settled.
        reason: Why, in a line.
        outcome: `pass` where there is a number (or `fail`, where the scorer itself says so), `not_applicable`, or
            `error`.
        n: How many things were counted; None where it is no count.
        interval: The 95 % interval of a proportion, as (low, high); None for other numbers.
        best: Whether high or low is good.
        counted: Whether it is from 0 to 1, and so takes part in an overall number.
        error: The slug of what went wrong; empty for nothing.
        hint: What to do about it.
        details: What else is known: the claims with their verdicts, who judged, the versions of the prompts.
    """

    name: str
    value: float | None
    reason: str = ""
    outcome: State = "pass"
    n: int | None = None
    interval: tuple[float, float] | None = None
    best: str = "high"
    counted: bool = True
    error: str = ""
    hint: str = ""
    details: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)

    @staticmethod
    def of(outcome: Outcome, best: str = "high", counted: bool = True) -> Measured:
        """A metric from its outcome."""
        details = dict(outcome.metadata)
        interval, n = details.pop("interval", None), details.pop("n", None)
        return Measured(
            name=outcome.name,
            value=outcome.score,
            reason=outcome.reason,
            outcome=outcome.outcome,
            n=n,
            interval=(interval[0], interval[1]) if interval else None,
            best=best,
            counted=counted,
            error=outcome.error,
            hint=outcome.hint,
            details=details,
        )


@dataclass(frozen=True, slots=True)
class Scored(Framed):
    """All metrics of one answer, by name: `scored["faithfulness"].value`.

    Attributes:
        measures: In the order in which they were asked for.
        weights: What each counts in `overall`; None for all alike.
        cost_usd: Dollars for this call; None where a price is not known.
        tokens_in: Tokens that were sent.
        tokens_out: Tokens that came back.
        calls: Model calls, replayed ones included.
        cached: Those of them that came from the cache.
        run: The run's file, with every question and answer; None for none.
    """

    measures: tuple[Measured, ...]
    weights: Mapping[str, float] | None = None
    cost_usd: float | None = 0.0
    tokens_in: int | None = None
    tokens_out: int | None = None
    calls: int = 0
    cached: int = 0
    run: Path | None = None

    @staticmethod
    def of(
        trial: TrialResult,
        measures: Sequence[Measured],
        weights: Mapping[str, float] | None = None,
        run: Path | None = None,
    ) -> Scored:
        """The metrics of a settled trial, with what its calls came to."""
        return Scored(
            measures=tuple(measures),
            weights=weights,
            cost_usd=trial.cost_usd,
            tokens_in=trial.tokens_in,
            tokens_out=trial.tokens_out,
            calls=trial.calls,
            cached=trial.cached,
            run=run,
        )

    def __getitem__(self, name: str) -> Measured:
        for one in self.measures:
            if one.name == name:
                return one
        raise KeyError(f"{name!r} was not measured: there are {', '.join(self) or 'no metrics'}")

    def __contains__(self, name: object) -> bool:
        return any(one.name == name for one in self.measures)

    def __iter__(self) -> Iterator[str]:
        return (one.name for one in self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    @property
    def values(self) -> dict[str, float | None]:
        """The numbers by name; None for what did not apply or is in error."""
        return {one.name: one.value for one in self.measures}

    @property
    def errors(self) -> tuple[Measured, ...]:
        """The metrics that could not be settled."""
        return tuple(one for one in self.measures if one.outcome == "error")

    @property
    def overall(self) -> float | None:
        """The weighted mean over the metrics that came to a number from 0 to 1; None where none did.

        Where less is better, 1 − the number counts. Which metrics took part is in `overall_of`.
        """
        return overall(self.values, self.measures, self.weights)

    @property
    def overall_of(self) -> tuple[str, ...]:
        """The metrics that `overall` is a mean of."""
        return overall_of(self.values, self.measures, self.weights)

    def rows(self) -> list[dict[str, Any]]:
        """A flat dict for each metric, the same keys in all."""
        return [
            {
                "metric": one.name,
                "value": one.value,
                "outcome": one.outcome,
                "n": one.n,
                "low": one.interval[0] if one.interval else None,
                "high": one.interval[1] if one.interval else None,
                "best": one.best,
                "reason": one.reason,
                "error": one.error or None,
            }
            for one in self.measures
        ]

    def _tables(self) -> Mapping[str, Table]:
        return {"metrics": Table(self.rows, METRICS)}

    def __str__(self) -> str:
        width = max((len(name) for name in self), default=0)
        lines = [
            f"{one.name:<{width}}  {_number(one):>6}  {_interval(one):<14} {clip(safe(one.reason), 100)}".rstrip()
            for one in self.measures
        ]
        return "\n".join([*lines, _last_line(self)])

    def _repr_html_(self) -> str:
        """How notebooks show it: it stands alone, and whatever models wrote is escaped."""
        heads = "".join(f"<th>{head}</th>" for head in ("metric", "value", "95 %", "n", "why"))
        body = "".join(
            f'<tr><th style="text-align:left">{escape(safe(one.name))}</th><td>{_number(one)}</td>'
            f"<td>{_interval(one)}</td><td>{'' if one.n is None else one.n}</td>"
            f'<td style="text-align:left">{escape(safe(one.reason))}</td></tr>'
            for one in self.measures
        )
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        return f"<div>{table}<p>{escape(_last_line(self))}</p></div>"


def _number(one: Measured) -> str:
    if one.value is not None:
        return unlike_whole(one.value, 3)
    return "error" if one.outcome == "error" else "–"


def _interval(one: Measured) -> str:
    return f"[{rounded(one.interval[0], 2)}, {rounded(one.interval[1], 2)}]" if one.interval else ""


def _last_line(scored: Scored) -> str:
    value = scored.overall
    parts = [
        "overall –"
        if value is None
        else f"overall {unlike_whole(value, 3)} over {len(scored.overall_of)}"
    ]
    if scored.errors:
        parts.append(count(len(scored.errors), "error"))
    if scored.calls:
        parts.append(calls_of(scored.calls, scored.cached))
        if scored.tokens_in is not None:
            parts.append(tokens(scored.tokens_in, scored.tokens_out or 0))
        parts.append("price unknown" if scored.cost_usd is None else money(scored.cost_usd))
    return " · ".join(parts)
