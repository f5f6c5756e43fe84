"""What pytest prints of expectations, a line for each and one at the end; and of judges, below its summary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from typing import Any

from evenhand.analysis.trust.corrected_bounds import is_unchecked
from evenhand.core.errors import EvenhandError
from evenhand.core.record import Record
from evenhand.core.run import TrialResult
from evenhand.core.score import Outcome
from evenhand.core.wording.words import count, safe
from evenhand.render.judged_rates import judged_lines
from evenhand.store.run_lookup import called
from evenhand.store.runfile import RunFile

_MARKS = {"pass": "✓", "fail": "✗", "error": "!", "not_applicable": "–"}


class Lines(Record, frozen=True):
    """A line for each expectation.

    Attributes:
        all: All, in their order.
        missed: Those that were missed.
        errors: Those that could not be settled.
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


MOST = 10
"""Lines for one run; `evenhand show` has them all."""
WIDTH = 100


class JudgesStanding(Record, frozen=True):
    """How the judges of a session stand.

    Attributes:
        lines: Their numbers: corrected, or not checked against people.
        undecided: Whether calibration is required, and one of them has none that holds.
    """

    lines: tuple[str, ...] = ()
    undecided: bool = False


def standing_of(runs: Iterable[Path]) -> JudgesStanding:
    """How the judges stand in these runs: one run, or one of each worker."""
    lines: list[str] = []
    undecided = False
    for path in runs:
        # Anew for each run: one that cannot be opened must not inherit what the run before requires.
        required = False
        try:
            with RunFile.open(path) as run:
                names = [variant.prompt for variant in run.meta.variants]
                required = run.meta.settings.get("calibrated") == "required"
                undecided |= required and is_unchecked(run)
                lines += _shortened(judged_lines(run, names, WIDTH))
        except EvenhandError as error:
            undecided |= required
            lines += [f"! {safe(line)}" for line in str(error).splitlines()]
    return JudgesStanding(tuple(lines), undecided)


def _shortened(lines: list[str]) -> list[str]:
    if not lines:
        return []
    head, *rest = lines
    more = len(rest) - MOST
    first = rest[:MOST] if more > 0 else rest
    return [
        f"evenhand:{head.removeprefix(' ')}",
        *first,
        *([f"    … and {count(more, 'more line')}: evenhand show"] if more > 0 else []),
    ]
