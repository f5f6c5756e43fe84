"""A test that is run several times, and passes if enough of them do.

How this works: the test is set up, called and torn down anew each time, by pytest's own protocol; what is reported is
one test. A repeat without a verdict counts neither way: the test passes if it would have passed even had those failed,
fails if it would have failed even had those passed, and else is an error.
"""

from __future__ import annotations

from typing import Any, cast

import pytest
from _pytest.runner import runtestprotocol

from evenhand.core.json_shapes import is_whole
from evenhand.core.run import Totals, verdict


def asked(mark: pytest.Mark) -> tuple[int, float]:
    """How often, and which share must pass.

    Raises:
        ValueError: The marker says something else.
    """

    def repeats(n: Any, *, at_least: Any = 1.0) -> tuple[Any, Any]:
        return n, at_least

    try:
        n, at_least = repeats(*mark.args, **mark.kwargs)
    except TypeError:
        raise ValueError(
            "repeats takes a number and at_least=, e.g. repeats(5, at_least=0.8)"
        ) from None
    if not is_whole(n) or n < 1:
        raise ValueError(f"repeats({n!r}): it is a whole number from 1 on")
    if not isinstance(at_least, (int, float)) or not 0 < at_least <= 1:
        raise ValueError(f"repeats: at_least is {at_least!r}; it is a share, above 0 and up to 1")
    return n, float(at_least)


def count_of(item: pytest.Item) -> int:
    """How often a test is run."""
    mark = item.get_closest_marker("repeats")
    return asked(mark)[0] if mark is not None else 1


def least_of(item: pytest.Item) -> float:
    """The share of its repeats that has to pass."""
    mark = item.get_closest_marker("repeats")
    return asked(mark)[1] if mark is not None else 1.0


def run(item: pytest.Function, nextitem: pytest.Item | None, key: pytest.StashKey[int]) -> None:
    """Runs the repeats of a test, and reports them as one.

    Args:
        nextitem: What pytest runs afterwards: nothing that it needs is torn down.
        key: Where the number of the repeat is kept.
    """
    mark = item.get_closest_marker("repeats")
    assert mark is not None  # noqa: S101 (whoever calls has looked)
    n, at_least = asked(mark)
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    rounds: list[dict[str, pytest.TestReport]] = []
    for i in range(n):
        item.stash[key] = i
        # Between repeats only what the test itself needs is torn down: as if a neighbour were next.
        following = nextitem if i == n - 1 else cast("pytest.Item", item.parent)
        reports = runtestprotocol(item, log=False, nextitem=following)
        rounds.append({cast("str", report.when): report for report in reports})
    for report in _merged(item, rounds, at_least):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _merged(
    item: pytest.Function, rounds: list[dict[str, pytest.TestReport]], at_least: float
) -> list[pytest.TestReport]:
    """The reports of one test: its set-up, its call, its tear-down."""
    # A repeat that is skipped is none, and hides no other.
    rounds = [r for r in rounds if not _is_skipped(item, r)] or rounds
    odd = next((r for r in rounds if not _counts(r)), None)
    if odd is not None:  # skipped, expected to fail, or not even set up: reported as it is
        return list(odd.values())
    torn = next((r["teardown"] for r in rounds if r["teardown"].failed), rounds[-1]["teardown"])
    return [rounds[0]["setup"], _call(item, [r["call"] for r in rounds], at_least), torn]


def _is_skipped(item: pytest.Function, reports: dict[str, pytest.TestReport]) -> bool:
    """Whether the test skipped itself, or said that it fails: not by a marker, which holds for all of its repeats."""
    last = reports.get("call") or reports["setup"]
    if hasattr(last, "wasxfail") and item.get_closest_marker("xfail") is not None:
        return False
    return last.skipped and not reports["teardown"].failed


def _counts(reports: dict[str, pytest.TestReport]) -> bool:
    call = reports.get("call")
    return call is not None and not call.skipped and not hasattr(call, "wasxfail")


def _call(
    item: pytest.Function, calls: list[pytest.TestReport], at_least: float
) -> pytest.TestReport:
    from evenhand.core.wording.bounds import percent_as_written
    from evenhand.core.wording.words import share_words
    from evenhand.stats.tallies import Tally, rate_of_trials

    settled = [getattr(call, "evenhand", None) for call in calls]
    errors = sum(1 for t in settled if t and t["undecided"])
    passed = sum(call.passed for call in calls)
    n = len(calls)
    word = verdict(
        Totals(trials=n, passed=passed, failed=n - passed - errors, errors=errors), n, at_least
    )
    rate = rate_of_trials(Tally(passed, n - passed - errors, errors))
    assert rate is not None  # noqa: S101 (there is one repeat at least)
    sentence = f"{passed} of {n} repeats passed, {share_words(*rate)}"
    if errors:
        sentence += f", {errors} without a verdict"
    states = {state for one in settled if one for state in one["states"]}
    if word == "passed" and 0 < at_least < 1 and states == {"not_applicable"}:
        word = "undecided"
        sentence = "what the test expects applies to none of its repeats"
    lines = [f"{sentence}; wanted at least {percent_as_written(at_least)}"]
    sections: list[tuple[str, str]] = []
    known = 0
    for i, call in enumerate(calls, 1):
        if call.failed:
            lines += [f"repeat {i}:", *(f"  {line}" for line in call.longreprtext.splitlines())]
        # A report has the sections of all that came before it, too.
        sections += [(f"{name} · repeat {i}", text) for name, text in call.sections[known:]]
        known = len(call.sections)
    report = calls[0]
    report.duration = sum(call.duration for call in calls)
    report.stop = calls[-1].stop
    report.sections = sections
    report.outcome = "passed" if word == "passed" else "failed"
    report.longrepr = None if word == "passed" else _as_failure(item, "\n".join(lines))
    if any(settled):
        report.__dict__["evenhand"] = _together([t for t in settled if t], word == "undecided")
    return report


def _as_failure(item: pytest.Function, text: str) -> Any:
    """The text, in the form in which pytest shows failures."""
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception:
        return item.repr_failure(pytest.ExceptionInfo.from_current())


def _together(settled: list[dict[str, Any]], undecided: bool) -> dict[str, Any]:
    return {
        "run": settled[0]["run"],
        "undecided": undecided,
        "states": [state for one in settled for state in one["states"]],
        "calls": sum(one["calls"] for one in settled),
        "cached": sum(one["cached"] for one in settled),
    }
