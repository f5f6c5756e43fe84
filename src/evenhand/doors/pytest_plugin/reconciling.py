"""What pytest reports of a test beside its expectations is settled in its trial, so that both say the same.

That is a tear-down that raises, a subtest that failed, a pass that was to be a failure, a failure that a plugin lets
pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from evenhand.core.errors import CodeError, first_line
from evenhand.core.expect import Expectation
from evenhand.core.score import Outcome
from evenhand.doors.eval_sets.expect import Stated
from evenhand.engine.outcome import error_outcome

if TYPE_CHECKING:
    from evenhand.doors.pytest_plugin.attempts import Attempts
    from evenhand.doors.pytest_plugin.session_run import SessionRun

SUBTESTS: pytest.StashKey[dict[str, str]] = pytest.StashKey()
"""What the present tests' first failed subtests raised, by test."""


def note_subtest(config: pytest.Config, report: pytest.TestReport) -> None:
    """Notes that a subtest failed, of which some versions of pytest say nothing in the report of its test."""
    if report.failed and type(report).__name__ in ("SubTestReport", "SubtestReport"):
        crash = getattr(report.longrepr, "reprcrash", None)
        reason = str(getattr(crash, "message", "")) or report.longreprtext
        by_test = config.stash.setdefault(SUBTESTS, {})
        by_test.setdefault(report.nodeid, reason.splitlines()[0] if reason else "")


def reconcile(
    session_run: SessionRun,
    attempts: Attempts | None,
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
) -> None:
    """Settles the trial of a test once more where pytest reports something else of the test than it came to."""
    subtest = item.config.stash.get(SUBTESTS, {}).pop(item.nodeid, None)
    if report.failed or subtest is not None:
        if report.when != "call":
            session_run.must_pass(item.nodeid)
        result = attempts.result if attempts is not None else None
        if attempts is not None and (result is None or result.outcome not in ("fail", "error")):
            session_run.settle_again(attempts, _failure(call, report, subtest))
    elif report.skipped and item.get_closest_marker("xfail") and hasattr(report, "wasxfail"):
        session_run.expected_to_fail(item.nodeid)
    elif report.skipped and attempts is not None:  # by itself, or by `pytest.xfail`
        _leave_out(session_run, attempts, "skipped")
    elif report.when == "call" and attempts is not None:
        if attempts.result is None:
            _leave_out(session_run, attempts, "nothing was expected")
        elif attempts.result.outcome in ("fail", "error"):
            session_run.expected_to_fail(item.nodeid)
    if report.when == "teardown" and attempts is not None:
        attempts.end()


def _leave_out(session_run: SessionRun, attempts: Attempts, reason: str) -> None:
    """Takes back what a trial came to, if anything: pytest neither passes nor fails its test."""
    if attempts.result is not None or attempts.earlier:
        session_run.settle_again(attempts, Outcome(reason, "not_applicable", None, reason))


def _failure(
    call: pytest.CallInfo[None], report: pytest.TestReport, subtest: str | None
) -> Outcome:
    """What failed beside the expectations. Outside of a test's body, it leaves the test without a verdict."""
    raised = call.excinfo.value if call.excinfo is not None else None
    reason = report.longreprtext if raised is None else first_line(raised)
    words = {"setup": "set-up", "teardown": "tear-down"}
    if report.when in words:
        what = f"the test's {words[report.when]}"
        problem = CodeError(f"{what} raised {reason.splitlines()[0] if reason else ''}".rstrip())
        return error_outcome(Expectation(None, Stated(what)), problem)
    if raised is None and subtest is not None:
        return Outcome("the test's subtests", "fail", 0.0, subtest)
    if raised is None or isinstance(raised, (AssertionError, pytest.fail.Exception)):
        return Outcome("the test's own asserts", "fail", 0.0, reason)
    problem = CodeError(f"the test raised {reason}")
    return error_outcome(Expectation(None, Stated("the test")), problem)
