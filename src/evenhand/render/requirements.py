"""What a run has to reach and what came of it, in words: for the terminal, and for the viewer's page."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.analysis.trust.requirements import Held, held
from evenhand.core.requirement import PASSED, Requirement
from evenhand.core.run import is_of_pytest
from evenhand.core.wording.bounds import beside, percent_as_written, percent_beside
from evenhand.core.wording.words import count, digits_within, interval, safe
from evenhand.store.runfile import RunFile

FAILURES_ALLOWED = "no pass_rate is required, so failed trials alone don't fail the run"

_MARKS = {"kept": "✓", "missed": "✗", "open": "!"}


def requirement_lines(run: RunFile, names: Sequence[str]) -> list[str]:
    """What is required and what came of it, a line for each column."""
    requirements = run.meta.requirements
    if not requirements:
        return []
    results = held(run)
    # A test that all repeats of have to pass, as they did, is in the table already.
    of_pytest = is_of_pytest(run.meta.title, run.meta.variants)
    listed = [
        one
        for one in results
        if not (of_pytest and one.state == "kept" and one.requirement.bound.at_least == 1)
    ]
    lines = [_line(one, names) for one in listed]
    return [*lines, FAILURES_ALLOWED] if failures_allowed(requirements) else lines


def failures_allowed(requirements: Sequence[Requirement]) -> bool:
    """Whether something is required, and none of it of the share of trials that pass."""
    return bool(requirements) and all(one.metric != PASSED for one in requirements)


def value_words(one: Held) -> str:
    """What was measured, or the two ends between which errors leave it: `91 %`, `0.8–0.9`."""
    if one.least is None or one.most is None:
        return "unknown"
    at_least, at_most = one.requirement.bound.at_least, one.requirement.bound.at_most
    if one.requirement.metric == PASSED:
        digits = 0 if one.low is None or one.high is None else digits_within(one.low, one.high)
        low, high = (
            percent_beside(end, at_least, at_most, digits=digits) for end in (one.least, one.most)
        )
        return high if low == high else f"{low.removesuffix(' %')}–{high}"
    digits = max(4, _digits_apart(one.low, one.high))
    least, most = (beside(end, at_least, at_most, digits=digits) for end in (one.least, one.most))
    return least if least == most else f"{least}–{most}"


def interval_words(one: Held) -> str:
    """A requirement's 95 % interval: `82–97`; empty where it, or what was measured, is not known."""
    if one.low is None or one.high is None or one.least is None:
        return ""
    if one.requirement.metric == PASSED:
        return interval(one.low, one.high)
    digits = _digits_apart(one.low, one.high)
    return f"{one.low:.{digits}g}–{one.high:.{digits}g}"


def _digits_apart(low: float | None, high: float | None) -> int:
    """In how many digits that count the ends of an interval are two numbers; 3 at least."""
    if low is None or high is None or low == high:
        return 3
    return next((n for n in range(3, 17) if f"{low:.{n}g}" != f"{high:.{n}g}"), 17)


def bound_words(required: Requirement) -> str:
    """What is wanted: `at least 90 %`, a bound as a percentage in as many digits as it was written with."""
    if required.metric != PASSED:
        return str(required.bound)
    return required.bound.worded(percent_as_written)


def why(one: Held) -> str:
    """What leaves the verdict open, or how little it says beyond these cases; empty for a sure one."""
    if one.variant is None:
        if one.errors:
            return f"unknown, with {count(one.errors, 'trial')} in error or not run"
        there = ", ".join(map(safe, one.there[:12])) or "nothing"
        return f"no trial has this metric; there are: {there}"
    if one.unapplied:
        return "applies to none of its trials"
    if one.decided:
        do = "does" if one.cases == 1 else "do"
        return "" if one.state != "open" else f"{count(one.cases, 'case')} {do} not decide it"
    if one.state == "open":
        return f"{count(one.errors, 'trial')} in error or not run could turn it"
    if one.sure:
        return ""
    if one.low is None:
        return f"there is no interval for {count(one.cases, 'case')}"
    return f"the interval includes the bound: {count(one.cases, 'case')} can't decide it"


def _line(one: Held, names: Sequence[str]) -> str:
    what, bound = safe(one.requirement.metric) or "passed", bound_words(one.requirement)
    several = one.variant is not None and len(names) > 1
    name = f"{names[one.variant or 0]}: " if several else ""
    name = f"{safe(one.requirement.case)}: " if one.requirement.case else name
    if one.variant is None or one.unapplied:
        return f"{_MARKS[one.state]} {name}{what}, wanted {bound}: {why(one)}"
    reach = interval_words(one)
    value = f"{value_words(one)} [{reach}]" if reach else value_words(one)
    if one.left_out:
        rest = "predicted" if one.predicted else "assumed to be like them"
        about = "about " if one.about else ""
        value += f" over {about}{count(one.cases + one.left_out, 'case')}"
        value += f", {one.cases:,} run and {about}{one.left_out:,} {rest}"
    because = why(one)
    join = ": " if one.state == "open" else "; "
    text = f"{_MARKS[one.state]} {name}{what} {value}, wanted {bound}"
    return f"{text}{join}{because}" if because else text
