"""What pytest prints of expectations: a line for each, and one at the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from typing import Any

from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.wording.words import count, safe
from evenhand.store.catalogue import called

_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "not_applicable": "–"}


class Lines(Record, frozen=True):
    """A line for each expectation.

    Attributes:
        all: All, in their order.
        missed: Those that were missed.
        errors: Those that could not be settled.
        others: The rest.
    """

    all: list[str]
    missed: list[str]
    errors: list[str]
    others: list[str]


def lines(result: TrialResult, places: Sequence[str]) -> Lines:
    """What became of each expectation, with the line of the test that says it."""
    listed = Lines([], [], [], [])
    # What went wrong beside the expectations is an outcome that no line of the test stands for.
    for outcome, place in zip_longest(result.outcomes, places[: len(result.outcomes)]):
        where = f"{place}  " if place else ""
        line = f"{_MARKS[outcome.outcome]} {where}{_outcome_text(outcome)}"
        listed.all.append(line)
        if outcome.outcome == "fail" and outcome.weight > 0:
            listed.missed.append(line)
        elif outcome.outcome == "error":
            listed.errors.append(line)
        else:
            listed.others.append(line)
    if result.error is not None and not result.outcomes:
        line = f"! {result.error.slug}: {safe(result.error.message)}"
        line += f" ({safe(result.error.where)})" if result.error.where else ""
        listed.all.append(line)
        listed.errors.append(line)
    return listed


def _outcome_text(outcome: Outcome) -> str:
    text = safe(outcome.name)
    if outcome.error:
        text += f": {outcome.error}"
    text = f"{text}: {safe(outcome.reason)}" if outcome.reason else text
    return f"{text}\n    {safe(outcome.hint)}" if outcome.hint else text


def summary(result: TrialResult) -> str:
    """The first line of a failure: how many were missed, and how many have no verdict."""
    states = [o.outcome for o in result.outcomes if o.weight > 0]
    missed, errors = states.count("fail"), states.count("error")
    of = f"of {count(len(result.outcomes), 'expectation')}"
    if not result.outcomes:
        return "no verdict: the expectations could not be settled"
    if not missed:
        return f"no verdict: {errors} {of} could not be settled"
    more = f", {errors} could not be settled" if errors else ""
    return f"{missed} {of} missed{more}"


def closing(settled: Sequence[Mapping[str, Any]]) -> str:
    """One line for the session: what was expected and met, what was asked, and what to type next."""
    states = [state for one in settled for state in one["states"]]
    parts = [f"{count(len(states), 'expectation')}: {states.count('pass')} met"]
    for state, word in (("fail", "missed"), ("error", "in error")):
        if states.count(state):
            parts[0] += f", {states.count(state)} {word}"
    calls = sum(one["calls"] for one in settled)
    if calls:
        cached = sum(one["cached"] for one in settled)
        calls_text = count(calls, "model call")
        parts.append(f"{calls_text}, {cached} replayed" if cached else calls_text)
    runs = list(dict.fromkeys(one["run"] for one in settled))
    here = Path.cwd()
    parts.append(", ".join(f"evenhand show {quote(called(here, Path(run)))}" for run in runs))
    return "evenhand: " + " · ".join(parts)
