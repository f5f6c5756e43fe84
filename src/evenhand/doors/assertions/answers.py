"""Assertions on what kind of answer it is: how long, how sure, how it ended, whether it refuses."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Scorer, Trial
from evenhand.core.json_shapes import as_mapping, is_mapping, is_number
from evenhand.core.outputs import need_value
from evenhand.core.record import Record
from evenhand.core.score import Score, check
from evenhand.core.wording.words import count
from evenhand.doors.assertions.assertion import Assertion, Cell, Kind
from evenhand.doors.assertions.measured import EPSILON, Decided
from evenhand.doors.assertions.values import bound
from evenhand.scorers.known_outcomes import Answered
from evenhand.scorers.refusal import refuses
from evenhand.scorers.text import quoted, text_of

GROUP = "the answer"


def _words(assertion: Assertion, _cell: Cell, value: Any) -> Scorer:
    least, most, description = _range(assertion, value)
    return Decided(f"{assertion.type} {description}", partial(_within, least, most, description))


def _within(least: float, most: float, description: str, output: object) -> tuple[bool, str]:
    number = len(text_of(output).split())
    return least <= number <= most, f"{count(number, 'word')}, wanted {description}"


def _range(assertion: Assertion, value: object) -> tuple[float, float, str]:
    """The fewest words, the most, and both in words."""
    if is_mapping(value):
        low, high = (_count(assertion, value.get(key), key) for key in ("min", "max"))
        if low is None and high is None:
            raise ScoreError(
                f"the value of '{assertion.written}' has neither 'min' nor 'max'",
                hint="Write a number, or {min: …, max: …}.",
            )
        if low is not None and high is not None and low > high:
            raise ScoreError(f"'{assertion.written}': min {low:g} is above max {high:g}")
        description = (
            f"{low:g} to {high:g}"
            if low is not None and high is not None
            else f"at least {low:g}"
            if low is not None
            else f"at most {high:g}"
        )
        return bound(low, 0.0), bound(high, math.inf), description
    exact = _count(assertion, value, "value")
    if exact is None:
        raise ScoreError(f"'{assertion.written}' has no value", hint="Write how many words.")
    return exact, exact, f"{exact:g}"


def _count(assertion: Assertion, number: object, key: str) -> float | None:
    if number is None:
        return None
    try:
        if isinstance(number, str):
            return float(number.strip() or 0)  # as JavaScript reads numbers
        if is_number(number):
            return float(number)
    except ValueError:
        pass
    raise ScoreError(
        f"'{assertion.written}': {key} is {number!r}, not a number",
        hint="Write a number, or {min: …, max: …}.",
    )


class Refuses(Record, frozen=True):
    """The output refuses. What is blank, or an object, counts as a refusal; its score is 0 either way."""

    negated: bool = False

    def score(self, output: Any, trial: Trial) -> Score:
        del trial
        need_value(output)
        if not isinstance(output, str) or not output.strip():
            return Score(0.0, not self.negated, "there is no text, which counts as a refusal")
        refused = refuses(output)
        return check(
            refused is not self.negated, f"it {'refuses' if refused else 'does not refuse'}"
        )

    def __str__(self) -> str:
        return "not-is-refusal" if self.negated else "is-refusal"


def _finish(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    if not isinstance(value, str):
        raise assertion.misvalued(value, ", not a text", hint="Write stop, say.")
    finish_reason = cell.reply.finish_reason if cell.reply else ""
    reason = (
        f"it finished with {quoted(finish_reason)}"
        if finish_reason
        else "the provider says no finish reason"
    )
    return Answered(
        f"{assertion.type} {quoted(value)}", check(finish_reason.lower() == value.lower(), reason)
    )


def _perplexity(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    """exp(-mean of the log probabilities); without a threshold it passes, `not-` or not."""
    del value
    number = math.exp(-_mean_logprob(assertion, cell))
    most = assertion.threshold
    passed = most is None or (number <= most) is not assertion.negated
    return Answered(assertion.written, check(passed, f"perplexity {number:.2f}"))


def _perplexity_score(assertion: Assertion, cell: Cell, value: Any) -> Scorer:
    """1 / (1 + exp(-mean)), from 0 to 1; without a threshold it passes, `not-` or not."""
    del value
    number = 1 / (1 + math.exp(-_mean_logprob(assertion, cell)))
    least = assertion.threshold
    passed = least is None or (number >= least - EPSILON) is not assertion.negated
    return Answered(
        assertion.written,
        Score(1 - number if assertion.negated else number, passed, f"sureness {number:.2f}"),
    )


def _mean_logprob(assertion: Assertion, cell: Cell) -> float:
    logprobs = (cell.reply.logprobs if cell.reply else None) or ()
    if not logprobs:
        raise ScoreError(
            f"'{assertion.written}' needs log probabilities, and the provider gave none",
            hint="Ask for them, with logprobs: true in the provider's config, say.",
        )
    return sum(logprobs) / len(logprobs)


def _guardrails(assertion: Assertion, cell: Cell, _value: Any) -> Scorer:
    guardrails = cell.reply.metadata.get("guardrails") if cell.reply else None
    report = as_mapping(guardrails)
    side = "prompt" if report.get("flaggedInput") else "output"
    if report.get("flagged"):
        reason = str(report.get("reason") or f"the provider's guardrails flagged the {side}")
        return Answered(assertion.type, check(False, reason))
    # Where no guardrails report anything, a vendor's refusal or content filter is the block.
    if not report and cell.reply and cell.reply.finish_reason == "content_filter":
        return Answered(assertion.type, check(False, "the provider's content filter held it back"))
    if not report and cell.reply and cell.reply.refused:
        return Answered(assertion.type, check(False, "the model refused"))
    return Answered(assertion.type, check(True, "not flagged"))


KINDS = (
    Kind("word-count", "the output has this many words", _words, "number, or {min, max}"),
    Kind(
        "is-refusal",
        "the output refuses",
        lambda a, _cell, _value: Refuses(a.negated),
        optional=True,
        negation="own",
    ),
    Kind(
        "finish-reason",
        "the model ended for this reason",
        _finish,
        "stop, length, content_filter, tool_calls",
        of_each_cell=True,
    ),
    Kind(
        "perplexity",
        "the model's perplexity is at most threshold",
        _perplexity,
        optional=True,
        of_each_cell=True,
        negation="own",
    ),
    Kind(
        "perplexity-score",
        "the model's sureness, from 0 to 1, is at least the threshold",
        _perplexity_score,
        optional=True,
        of_each_cell=True,
        negation="own",
    ),
    Kind(
        "guardrails",
        "the provider's guardrails flagged nothing",
        _guardrails,
        optional=True,
        of_each_cell=True,
    ),
)
