"""Pytest and the run of its session say the same of a test, whatever else pytest makes of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.render.document import document
from evenhand.store.run_lookup import paths
from evenhand.store.runfile import RunFile

pytest_plugins = ("pytester",)

Session = Callable[..., tuple[pytest.RunResult, Path]]

HEAD = """
import itertools
import threading
import time
import unittest

import pytest

counts = itertools.count()
"""
AGAIN = """
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl
def pytest_runtest_protocol(item, nextitem):
    "As pytest-rerunfailures has it: a test that failed is run again, and its first reports are said to be reruns."
    for attempt in range(3):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        again = attempt < 2 and any(one.failed for one in reports)
        for one in reports:
            one.outcome = "rerun" if again and one.failed else one.outcome
            if not again or one.outcome == "rerun":
                item.ihook.pytest_runtest_logreport(report=one)
        if not again:
            return True

def pytest_report_teststatus(report):
    return ("rerun", "R", "RERUN") if report.outcome == "rerun" else None
"""
LENIENT = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" and report.failed:
        report.outcome, report.longrepr = "passed", None
    return report
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Session:
    """Runs pytest on a file of tests, and finds the run that it left."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p evenhand.doors.pytest_plugin -p no:logging\n")

    def run(tests: str, *options: str, plugin: str = "") -> tuple[pytest.RunResult, Path]:
        pytester.makeconftest(plugin)
        pytester.makepyfile(test_bot=HEAD + tests)
        result = pytester.runpytest_inprocess(*options)
        (path,) = paths(pytester.path / ".evenhand")
        return result, path

    return run


def verdict(path: Path) -> tuple[str, int, int, int, int]:
    """A run's verdict, and its trials: all, passed, failed and in error."""
    with RunFile.open(path) as run:
        told = document(run)
    totals = told["totals"]
    return told["verdict"], *(totals[k] for k in ("trials", "passed", "failed", "errors"))  # type: ignore[return-value]


def test_of_a_test_that_is_run_again_the_last_attempt_counts_and_the_earlier_ones_are_listed(
    session: Session,
):
    """What was expected counts once; the earlier attempts decide nothing."""
    result, path = session(
        """
def test_bot(expect):
    expect(next(counts) == 2, "is the third")
    expect(True, "holds")
""",
        plugin=AGAIN,
    )
    assert result.ret == 0
    result.stdout.fnmatch_lines(["evenhand: 2 expectations: 2 met*"])
    assert verdict(path) == ("passed", 1, 1, 0, 0)
    with RunFile.open(path) as run:
        (trial,) = run.trials()
    assert [(one.name, one.outcome, one.weight) for one in trial.outcomes] == [
        ("is the third", "pass", 1.0),
        ("holds", "pass", 1.0),
        ("attempt 1", "fail", 0.0),
        ("attempt 2", "fail", 0.0),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("expect(next(counts) < 1, 'is the first')\n    assert next(counts)", "passed"),
        ("expect(False, 'never')", "failed"),
        ("if next(counts) < 2: raise OSError\n    expect(True, 'holds')", "passed"),
        ("expect(next(counts) > 1, 'late')\n    raise OSError", "undecided"),
        ("expect(False, 'never')\n    if next(counts): pytest.skip('x')", "undecided"),
        ("if not next(counts): expect(False, 'once')", "undecided"),
    ],
)
def test_a_run_goes_by_the_last_attempt_whatever_it_came_to(
    session: Session, body: str, expected: str
):
    """Passed, failed, in error, skipped, or without expectations."""
    if "assert" in body:  # fails at first by an assert
        body = "expect(True, 'holds')\n    assert next(counts)"
    result, path = session(f"def test_bot(expect):\n    {body}\n", plugin=AGAIN)
    word, trials, *_ = verdict(path)
    assert (word, trials) == (expected, 1)
    assert (word != "passed") >= (result.ret != 0)


@pytest.mark.parametrize(
    "where", ["assert next(counts)\n    yield", "yield\n    assert next(counts)"]
)
def test_an_attempt_that_fails_outside_of_the_body_is_replaced_as_others_are(
    session: Session, where: str
):
    """In its set-up or its tear-down."""
    result, path = session(
        f"""
@pytest.fixture
def app():
    {where}

def test_bot(app, expect):
    expect(True, "holds")
""",
        plugin=AGAIN,
    )
    assert (result.ret, verdict(path)) == (0, ("passed", 1, 1, 0, 0))


FIXTURE = (
    "@pytest.fixture\ndef app():\n    {}\n\ndef test_bot(app, expect):\n    expect(True, 'x')\n"
)
CLASS = """
class TestBot(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _given(self, expect):
        self.expect = expect

    def tearDown(self):
        assert {down}

    def test_bot(self):
        self.expect(True, "holds")
        {body}
"""


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (FIXTURE.format("yield\n    assert False"), ("undecided", 1, 0, 0, 1)),
        (FIXTURE.format("raise OSError('no app')"), ("undecided", 1, 0, 0, 1)),
        (
            "@pytest.mark.xfail(strict=True)\ndef test_bot(expect):\n    expect(True, 'x')\n",
            ("failed", 1, 0, 1, 0),
        ),
        (CLASS.format(down=True, body="assert False"), ("failed", 1, 0, 1, 0)),
        (CLASS.format(down=False, body=""), ("failed", 1, 0, 1, 0)),
        (
            CLASS.format(down=True, body="with self.subTest('one'): assert False"),
            ("failed", 1, 0, 1, 0),
        ),
        (CLASS.format(down=True, body="raise OSError"), ("undecided", 1, 0, 0, 1)),
    ],
)
def test_a_test_that_fails_beside_its_expectations_has_not_passed_in_the_run(
    session: Session, tests: str, expected: tuple[str, int, int, int, int]
):
    """By a fixture, a marker, or asserts that unittest keeps to itself."""
    result, path = session(tests)
    assert (result.ret, verdict(path)) == (1, expected)


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="pytest 9 has subtests")
@pytest.mark.parametrize("after", ["expect(True, 'holds')", "pass"])
def test_a_subtest_that_fails_fails_its_trial(session: Session, after: str):
    """Whether or not the test expects something."""
    result, path = session(f"""
def test_bot(expect, subtests):
    with subtests.test("one"):
        assert 1 == 2
    {after}

def test_good(expect):
    expect(True, "holds")
""")
    assert (result.ret, verdict(path)) == (1, ("failed", 2, 1, 1, 0))


def test_the_reason_of_what_failed_beside_the_expectations_is_in_the_run(session: Session):
    """With the exception."""
    _, path = session(FIXTURE.format("yield\n    raise OSError('socket left open')"))
    with RunFile.open(path) as run:
        (trial,) = run.trials()
    assert [one.name for one in trial.outcomes] == ["x", "the test's tear-down"]
    assert trial.reason == "the test's tear-down raised OSError: socket left open"


def test_a_test_that_unittest_skips_takes_back_what_it_expected(session: Session):
    """Unittest keeps the skip to itself while the test runs."""
    tests = CLASS.format(down=True, body="self.expect(False, 'y'); self.skipTest('not today')")
    result, path = session(tests + "\ndef test_other(expect):\n    expect(True, 'holds')\n")
    assert (result.ret, verdict(path)) == (0, ("passed", 2, 1, 0, 0))


def test_a_failure_that_a_plugin_lets_pass_does_not_fail_the_run(session: Session):
    """The trial itself has failed."""
    result, path = session("def test_bot(expect):\n    expect(False, 'x')\n", plugin=LENIENT)
    assert (result.ret, verdict(path)) == (0, ("passed", 1, 0, 1, 0))


@pytest.mark.parametrize(
    ("marks", "body", "expected"),
    [
        ("repeats(2)", "if next(counts): pytest.skip('x')\n    expect(True, 'x')", "passed"),
        ("repeats(2)", "if next(counts): pytest.skip('x')\n    expect(False, 'x')", "failed"),
        ("xfail", "expect(next(counts) > 0, 'x')", "passed"),
    ],
)
def test_a_repeat_that_is_skipped_or_expected_to_fail_hides_no_other(
    session: Session, marks: str, body: str, expected: str
):
    """The others count as if it were not there."""
    more = "@pytest.mark.repeats(2)\n" if marks == "xfail" else ""
    result, path = session(f"{more}@pytest.mark.{marks}\ndef test_bot(expect):\n    {body}\n")
    assert verdict(path)[0] == expected
    assert result.ret == (expected != "passed")


@pytest.mark.parametrize(
    "where", ["assert next(counts) != 1\n    yield", "yield\n    assert next(counts) != 1"]
)
def test_no_share_of_repeats_makes_up_for_one_that_fails_outside_of_its_body(
    session: Session, where: str
):
    """The share is of what the test's body comes to."""
    mark = "@pytest.mark.repeats(3, at_least=0.5)\n"
    result, path = session(FIXTURE.format(where).replace("def test", f"{mark}def test"))
    assert (result.ret, verdict(path)) == (1, ("undecided", 3, 2, 0, 1))


def test_the_same_test_given_twice_is_no_second_attempt(session: Session):
    """Each counts."""
    tests = "def test_bot(expect):\n    expect(next(counts) > 0, 'second')\n"
    result, path = session(tests, "--keep-duplicates", "test_bot.py", "test_bot.py")
    assert (result.ret, verdict(path)) == (1, ("failed", 2, 1, 1, 0))


def test_an_expectation_after_the_session_leaves_the_run_without_a_verdict(session: Session):
    """It came too late for its test, and for every report but the exit code."""
    result, path = session("""
going = threading.Event()

@pytest.fixture(scope="session", autouse=True)
def app():
    yield
    going.set()
    time.sleep(0.2)

def test_bot(expect):
    expect(True, "holds")
    def later():
        going.wait()
        expect(False, "too late")
    threading.Thread(target=later).start()

def test_other(expect):
    expect(True, "holds")
""")
    assert (result.ret, verdict(path)[0]) == (1, "undecided")
