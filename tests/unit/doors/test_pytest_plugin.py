"""The pytest plugin, as somebody's tests use it: sessions of their own inside these tests."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand.analysis.trust.requirements import held
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.cli import main
from evenhand.doors.pytest_plugin.guarding import _may_expect
from evenhand.render.document import document
from evenhand.store.run_lookup import paths
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script
from evenhand.testing.script import Rule

pytest_plugins = ("pytester",)

Run = Callable[..., pytest.RunResult]
JUDGED = {"reasoning": "It says please.", "passes": True, "confidence": 0.9}
HEAD = """
import itertools
import pytest
from evenhand.scorers.passes import Passes
from evenhand.scorers.text import Contains
from evenhand.testing import Scripted
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest with the plugin on a file of tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n"
        "addopts = -p evenhand.doors.pytest_plugin -p pytest_asyncio.plugin --strict-markers\n"
    )

    def run(tests: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test_bot=HEAD + tests)
        return pytester.runpytest_inprocess(*options, no_reraise_ctrlc=True)

    return run


def kept(pytester: pytest.Pytester) -> list[Path]:
    """The runs that were kept, newest first."""
    return paths(pytester.path / ".evenhand")


def test_a_test_fails_with_a_line_for_each_expectation_that_was_missed(run: Run):
    """All are settled; those that were met stand apart, and what raised is no miss."""
    result = run("""
def test_bot(expect):
    expect("in 30 days", Contains("30 days"))
    expect("in \\x1b[31m3 days", Contains("30 days"))
    with expect.that("adds up"):
        assert 1 + 1 == 3, "sums"
    with expect.that("can be read"):
        raise KeyError("total")
    expect(3, at_most=2, label="seconds")

def test_good(expect):
    expect(True, "holds")
""")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "3 of 5 expectations missed, 1 could not be settled",
            '✗ test_bot.py:9  contains "30 days": not in "in \\x1b[[]31m3 days"',
            "✗ test_bot.py:10  adds up: sums*",
            "✗ test_bot.py:14  seconds: 3, wanted at most 2",
            "! test_bot.py:12  can be read: code: KeyError: 'total'",
            "    *test_bot.py:13: raise KeyError*",
            "*expectations call*",
            '✓ test_bot.py:8  contains "30 days"',
            "evenhand: 6 expectations: 2 met, 3 missed, 1 in error · evenhand show *",
            "FAILED test_bot.py::test_bot - *3 of 5 expectations missed*",
        ]
    )
    result.stdout.no_fnmatch_line("*\x1b[[]31m3*")


def test_a_plain_function_is_a_scorer_in_a_test_too(run: Run):
    """Sync and async; a number without a bound is an error there as elsewhere."""
    result = run("""
def is_short(output: str) -> bool:
    return len(output) < 9

async def length(output):
    return len(output)

def test_bot(expect):
    expect("in 3 days", is_short)
    expect("in 3 days", length, at_least=9)
    expect("in 3 days", length)
""")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "✗ test_bot.py:14  is_short*",
            "! test_bot.py:16  length: usage: length gave 9 without a verdict, and there is no bound",
            "✓ test_bot.py:15  length*",
        ]
    )


def test_a_tests_score_is_the_share_that_passed_and_no_mean_of_raw_numbers(
    run: Run, pytester: pytest.Pytester
):
    """Ten words and a check that failed are half, and not 5."""
    run(
        """
def test_bot(expect):
    expect(10, at_most=60, label="words", metric="words")
    expect("Send them back.", Contains("30 days"))
"""
    ).assert_outcomes(failed=1)
    with RunFile.open(kept(pytester)[0]) as found:
        (trial,) = found.trials()
        assert (trial.score, trial.scale, trial.named_scores) == (0.5, (0, 1), {"words": 10})


def test_a_test_without_a_verdict_is_an_error_and_no_failure(run: Run):
    """Nothing was missed, something could not be settled."""
    result = run("""
def test_bot(expect):
    expect(True, "holds")
    with expect.that("can be read"):
        raise KeyError("total")
""")
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["no verdict: 1 of 2 expectations could not be settled", "! test_bot.py:9  can be read*"]
    )


def test_plain_and_async_tests_are_settled_alike_and_calls_are_journaled(
    run: Run, pytester: pytest.Pytester
):
    """Judges run in the session's one run; `expect.now` answers at once, and keeps its place."""
    result = run("""
JUDGE = Scripted(lambda prompt: '{"reasoning": "r", "passes": true, "confidence": 1}', cost_usd=0.5)

@pytest.fixture
def judge():
    return JUDGE

def test_plain(expect):
    expect("please", Passes("is polite"))

async def test_async(expect):
    expect(True, "before")
    outcome = await expect.now("thanks", Passes("is polite"))
    assert (outcome.outcome, outcome.score) == ("pass", 1.0)
    expect(True, "after")
    broken = await expect.now(3, Contains(""))
    assert broken.outcome == "error"

async def test_with_the_judge(expect, judge):
    expect("you are welcome", Passes("is polite", judge=judge))
""")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["evenhand: 6 expectations: 5 met, 1 in error · 3 model calls*"])
    (path,) = kept(pytester)
    with RunFile.open(path) as found:
        trials = list(found.trials())
        assert found.meta.status == "finished"
        assert (found.meta.planned, found.totals().passed) == (3, 2)
        assert [call.start.role for call in found.calls()] == ["judge"] * 3
    assert [trial.case for trial in trials] == [
        "test_bot.py::test_plain",
        "test_bot.py::test_async",
        "test_bot.py::test_with_the_judge",
    ]
    assert [o.outcome for o in trials[1].outcomes] == ["pass", "pass", "pass", "error"]
    assert [t.output for t in trials] == ["please", "thanks", "you are welcome"]
    assert trials[0].cost_usd == 0.5


def test_what_the_body_raises_is_the_failure_and_the_expectations_stand_below(run: Run):
    """Nothing that was expected before it is lost; a skipped test settles nothing."""
    result = run("""
def test_bot(expect):
    expect("x", Contains("y"))
    assert [1] == [2]

def test_skipped(expect):
    expect("x", Contains("y"))
    pytest.skip("not today")

@pytest.mark.xfail(strict=True)
def test_known(expect):
    expect("x", Contains("y"))
""")
    result.assert_outcomes(failed=1, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(
        ["E *assert [[]1] == [[]2]", '✗ test_bot.py:8  contains "y": not in "x"']
    )


def test_a_test_that_raises_counts_in_the_run_whatever_it_had_expected(
    run: Run, pytester: pytest.Pytester
):
    """An exception leaves its trial without a verdict, a failed assert fails it: neither is left out, or passes."""
    result = run("""
def test_raises(expect):
    raise KeyError("no such order")

def test_raises_later(expect):
    expect(True, "holds")
    raise KeyError("no such order")

def test_asserts(expect):
    expect(True, "holds")
    assert 1 + 1 == 3

def test_good(expect):
    expect(True, "holds")
""")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(["evenhand: 3 expectations: 3 met*"])
    with RunFile.open(kept(pytester)[0]) as run_file:
        trials = {trial.case.rpartition(":")[2]: trial for trial in run_file.trials()}
    assert {name: one.outcome for name, one in trials.items()} == {
        "test_raises": "error",
        "test_raises_later": "error",
        "test_asserts": "fail",
        "test_good": "pass",
    }
    assert "KeyError: 'no such order'" in trials["test_raises"].reason
    assert "1 + 1" in trials["test_asserts"].reason or "assert" in trials["test_asserts"].reason


def test_a_test_that_expects_nothing_is_warned_of(run: Run):
    """It is given `expect`, and would pass whatever happens."""
    result = run("def test_bot(expect): pass", "-Wdefault")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_bot is given `expect`, and expects nothing"])


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ('def test_bot(expect):\n    expect(True, "ok")\n    check(expect)\n', "never awaited"),
        ("def test_bot(expect):\n    check(expect)\n", "check() was never awaited"),
        (
            'async def test_bot(expect):\n    expect(True, "ok")\n    expect.now("x", Contains("y"))\n',
            "now() was never awaited",
        ),
        (
            (
                'async def test_bot(expect):\n    expect(True, "ok")\n'
                "    task = asyncio.create_task(later(expect))\n"
            ),
            "the task later was still running when the test ended",
        ),
        (
            'def test_bot(expect):\n    expect(True, "ok")\n    expect.that("holds")\n',
            "expect.that('holds') was never run",
        ),
        ('def test_bot(expect):\n    expect("rude", "is polite")\n', "nothing decides 'is polite'"),
        ('def test_bot(expect):\n    expect(lambda: 0, "x")\n', "a lambda is a function"),
        ('def test_bot(expect):\n    expect("x", Long())\n', "gave 3 without a verdict"),
        (
            'def test_bot(expect, late):\n    expect(True, "ok")\n',
            "expected after the trial had ended: late",
        ),
        ('def test_bot(expect):\n    expect(True, "ok")\n    os._exit(0)\n', "called os._exit(0)"),
    ],
)
def test_what_a_test_expects_does_not_vanish(run: Run, body: str, says: str):
    """What is forgotten, left behind or decided by nothing is an error, and the session does not end with 0."""
    head = """
import asyncio, os
from evenhand.core.score import Score

async def check(expect):
    expect(False, "checked")

async def later(expect):
    await asyncio.sleep(60)
    expect(False, "later")

class Long:
    def score(self, output, trial):
        return Score(3.0)

@pytest.fixture
def late(expect):
    yield
    expect(False, "late")

"""
    result = run(head + body, "-Wignore")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert says in result.stdout.str()


def test_a_thread_that_expects_when_its_test_is_over_keeps_the_session_from_0(run: Run):
    """Its test was reported as passed by then."""
    result = run(
        """
import threading
gate = threading.Event()

def test_bot(expect):
    def work():
        gate.wait(30)
        expect(False, "late")
    expect(True, "ok")
    threading.Thread(target=work).start()

def test_next(expect):
    expect(True, "ok")
    gate.set()
"""
    )
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*after the test had ended: *expected after*: late"])


def test_a_row_is_a_test(run: Run, pytester: pytest.Pytester):
    """From a file beside the test, a dataset, or rows; the row's id is the test's."""
    (pytester.path / "faq.jsonl").write_text(
        '{"id": "shoes", "input": "a", "expected": "a"}\n{"id": "hats", "input": "b", "expected": "c"}\n'
    )
    result = run(
        """
@pytest.mark.cases("faq.jsonl")
def test_file(case, expect):
    expect(case.input, Contains(case.expected))

@pytest.mark.cases([{"id": "one", "n": 1}])
def test_rows(case):
    assert (case.id, case.vars) == ("one", {"n": 1})
""",
        "-v",
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*test_file[[]shoes] PASSED*", "*test_file[[]hats] FAILED*"])
    result.stdout.fnmatch_lines(["*test_rows[[]one] PASSED*"])


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ('cases("none.jsonl")', "*none.jsonl: does not exist*"),
        ('cases("bad.jsonl")', "*bad.jsonl:2:*: is not JSON*"),
        ("cases()", "*test_it: cases takes one argument*"),
        ('cases([{"id": 1}, {"id": 1}])', "*two cases have the id '1'*"),
        ("repeats()", "*test_it: repeats takes a number*"),
        ("repeats(0)", "*repeats(0): it is a whole number from 1 on*"),
        ("repeats(2, at_least=80)", "*at_least is 80; it is a share*"),
    ],
)
def test_a_marker_that_cannot_be_meant_is_told_when_tests_are_collected(
    run: Run, pytester: pytest.Pytester, mark: str, said: str
):
    """Nothing runs before it is mended."""
    (pytester.path / "bad.jsonl").write_text('{"id": 1}\n[\n')
    result = run(f"@pytest.mark.{mark}\ndef test_it(case): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([said])


def test_cases_that_no_parameter_takes_are_refused(run: Run):
    """The test would be the same for each row."""
    result = run('@pytest.mark.cases([{"id": "a"}])\ndef test_it(expect): pass')
    result.stdout.fnmatch_lines(["*has the marker 'cases', and no parameter 'case'*"])


def test_repeats_are_one_test_that_passes_if_enough_of_them_do(run: Run, pytester: pytest.Pytester):
    """Set up and torn down each time; told with the rate and its interval."""
    result = run("""
made = []
rounds = {"good": itertools.count(), "bad": itertools.count(), "plain": itertools.count()}

@pytest.fixture(scope="module")
def shared():
    made.append("shared")
    yield
    made.append("gone")

@pytest.fixture
def fresh(shared):
    made.append("up")
    yield
    made.append("down")

@pytest.mark.repeats(5, at_least=0.8)
def test_good(expect, fresh):
    expect(next(rounds["good"]) != 1, "right")

@pytest.mark.repeats(5, at_least=0.9)
async def test_bad(expect):
    expect(next(rounds["bad"]) != 1, "right")

@pytest.mark.repeats(3)
def test_plain():
    assert next(rounds["plain"]) < 3

def test_made():
    assert made == ["shared"] + ["up", "down"] * 5
""")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "4 of 5 repeats passed, 80 % [[]38–96]; wanted at least 90 %",
            "repeat 2:",
            "  1 of 1 expectation missed",
            "  ✗ test_bot.py:*  right",
            "evenhand: 10 expectations: 8 met, 2 missed*",
        ]
    )
    (path,) = kept(pytester)
    with RunFile.open(path) as found:
        repeats = [(trial.variant, trial.repeat) for trial in found.trials()]
    assert repeats == [(v, r) for v in (0, 1) for r in range(5)]


def test_the_run_of_a_session_has_the_verdict_of_pytest(run: Run, pytester: pytest.Pytester):
    """Each test has to reach its own share, each of its cases by itself; a failure that is expected is none."""
    result = run("""
good, even = itertools.count(), itertools.count()

@pytest.mark.repeats(5, at_least=0.8)
def test_good(expect):
    expect(next(good) != 2, "right")

@pytest.mark.repeats(5, at_least=0.6)
@pytest.mark.parametrize("parity", [0, 1])
def test_cases(expect, parity):
    expect(next(even) % 5 < 3 + parity, "right")

@pytest.mark.xfail
def test_known(expect):
    expect(False, "right")

def test_plain(expect):
    expect(True, "right")
""")
    result.assert_outcomes(passed=4, xfailed=1)
    with RunFile.open(kept(pytester)[0]) as found:
        told = document(found)
    assert told["verdict"] == "passed"
    assert (told["configuration"]["cases"], told["configuration"]["repeats"]) == (5, 5)
    held = [(one["at_least"], one["case"], one["state"]) for one in told["requirements"]]
    cases = [f"test_bot.py::test_cases[{n}]" for n in (0, 1)]
    assert held == [
        (0.8, "", "kept"),
        *((0.6, case, "kept") for case in cases),
        (0.0, "", "kept"),
        (1.0, "", "kept"),
    ]


@pytest.mark.parametrize(
    ("test", "outcomes", "verdict", "reason"),
    [
        ("test_torn(expect, torn)", {"passed": 1, "errors": 1}, "undecided", "tear-down raised OSError"),
        ("test_torn(torn, expect)", {"passed": 1, "errors": 1}, "undecided", "tear-down raised OSError"),
        ("test_broken(expect, broken)", {"errors": 1}, "undecided", "set-up raised OSError: no"),
        ("test_broken(broken, expect)", {"errors": 1}, "undecided", "set-up raised OSError: no"),
        ("test_strict(expect)", {"failed": 1}, "failed", "XPASS(strict)"),
        ("test_skipping(expect, skipping)", {"skipped": 1}, "passed", ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mark", ["", "@pytest.mark.repeats(2, at_least=0.5)\n"])
def test_a_session_that_pytest_fails_has_no_run_that_passed(
    run: Run,
    pytester: pytest.Pytester,
    test: str,
    outcomes: dict[str, int],
    verdict: str,
    reason: str,
    mark: str,
):
    """Whatever fails a test outside of its body: its set-up, its tear-down, or that it should have failed."""
    strict = "@pytest.mark.xfail(strict=True)\n" if "strict" in test else ""
    result = run(f"""
@pytest.fixture
def broken():
    raise OSError("no")

@pytest.fixture
def torn():
    yield
    raise OSError("no")

@pytest.fixture
def skipping():
    pytest.skip("not today")

{strict}{mark}def {test}:
    expect(True, "right")

def test_good(expect):
    expect(True, "right")
""")
    result.assert_outcomes(**{**outcomes, "passed": outcomes.get("passed", 0) + 1})
    with RunFile.open(kept(pytester)[0]) as found:
        assert document(found)["verdict"] == verdict
        assert reason in " ".join(
            f"{trial.error} {[outcome.reason for outcome in trial.outcomes]}"
            for trial in found.trials()
        )


@pytest.mark.parametrize("word", ["skip", "xfail"])
def test_a_repeat_that_skips_itself_hides_no_failure_of_another(
    run: Run, pytester: pytest.Pytester, word: str
):
    """It counts neither way, in pytest and in the run."""
    result = run(f"""
first, second, third = itertools.count(), itertools.count(), itertools.count()

@pytest.mark.repeats(3)
def test_bad(expect):
    number = next(first)
    if number == 1:
        pytest.{word}("no key")
    expect(number != 0, "right")

@pytest.mark.repeats(3)
def test_good(expect):
    if next(second) == 1:
        pytest.{word}("no key")
    expect(True, "right")

@pytest.mark.repeats(3)
def test_plain():
    if next(third) == 2:
        pytest.{word}("no key")
    assert third.__reduce__()[1][0] > 1
""")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["1 of 2 repeats passed, 50 % *; wanted at least 100 %"])
    with RunFile.open(kept(pytester)[0]) as found:
        assert [trial.outcome for trial in found.trials()] == ["fail", "pass", "pass", "pass"]
        assert document(found)["verdict"] == "failed"


def test_a_case_below_its_share_fails_the_run_though_all_cases_together_reach_it(
    run: Run, pytester: pytest.Pytester
):
    """As pytest has it: 5 of 5 and 3 of 5 are 8 of 10."""
    result = run("""
count = itertools.count()

@pytest.mark.repeats(5, at_least=0.8)
@pytest.mark.parametrize("case", "ab")
def test_cases(expect, case):
    expect(next(count) < 8, "right")
""")
    result.assert_outcomes(passed=1, failed=1)
    with RunFile.open(kept(pytester)[0]) as found:
        assert document(found)["verdict"] == "failed"


def test_a_session_is_no_baseline_as_no_gate_could_run_it_again(
    run: Run, pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
):
    """It says what to do instead, and writes nothing."""
    run("def test_it(expect):\n    expect(True, 'right')\n")
    to = pytester.path / "b.evn"
    with pytest.raises(SystemExit):
        main(["baseline", str(kept(pytester)[0]), "--to", str(to)])
    assert "is a session of pytest, which `evenhand gate` can't run" in capsys.readouterr().err
    assert not to.exists()


def test_repeats_without_a_verdict_count_neither_way(run: Run):
    """Only where they could turn the verdict is it none; what is skipped or cannot be set up is told as it is."""
    result = run("""
rounds = itertools.count()

@pytest.mark.repeats(2, at_least=0.5)
def test_passes_anyway(expect):
    with expect.that("holds"):
        if next(rounds) == 0:
            raise KeyError("x")

@pytest.mark.repeats(2)
def test_undecided(expect):
    with expect.that("holds"):
        if next(rounds) == 2:
            raise KeyError("x")

@pytest.mark.repeats(2)
def test_skipped():
    pytest.skip("not today")

@pytest.fixture
def broken():
    raise OSError("no")

@pytest.mark.repeats(2)
def test_broken(broken): pass

@pytest.fixture
def torn():
    yield
    raise OSError("no")

@pytest.mark.repeats(2)
def test_torn(torn): pass

def test_after(): pass
""")
    result.assert_outcomes(passed=3, errors=3, skipped=1)
    result.stdout.fnmatch_lines(["1 of 2 repeats passed, 50–100 % *, 1 without a verdict; wanted*"])


def test_a_share_of_repeats_to_none_of_which_anything_applies_is_no_pass(
    run: Run, pytester: pytest.Pytester
):
    """What has to hold in most repeats was looked at in none; the run of the session says the same."""
    result = run("""
from evenhand import Score

def recall(output): return Score(1.0, True) if output else Score(None)

@pytest.mark.repeats(3, at_least=0.6)
@pytest.mark.parametrize("retrieved", ["a passage", ""])
def test_recalls(retrieved, expect):
    expect(retrieved, recall)

def test_one_of_its_own(expect):
    expect("", recall)

@pytest.mark.repeats(2)
def test_all_of_them(expect):
    expect("", recall)
""")
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*applies to none of its repeats; wanted at least 60 %"])
    assert result.ret == 1
    with RunFile.open(kept(pytester)[0]) as session:
        assert [one.requirement.case for one in held(session) if one.state == "open"] == [
            "test_bot.py::test_recalls[]"
        ]
        assert verdict_of(session) == "undecided"


def test_a_model_over_the_network_is_asked_only_when_live_and_replayed_afterwards(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """Its answer is kept for the very same question; another one is an error that says what to do."""
    tests = """
def test_bot(expect):
    expect("{said}", Passes("is polite"))
"""
    ini = pytester.path / "tox.ini"
    with FakeProvider(Script((Rule(reply=JUDGED),))) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        refused = run(tests.format(said="please"), "--evenhand-judge=openai:gpt-5-mini")
        refused.assert_outcomes(errors=1)
        refused.stdout.fnmatch_lines(
            ["*bad-request: openai:gpt-5-mini was not asked: no answer to this question is stored*"]
        )
        assert fake.ledger.total == 0
        ini.write_text(ini.read_text() + "\nevenhand_judge = openai:gpt-5-mini\n")
        live = run(tests.format(said="please"), "--evenhand-live")
        live.assert_outcomes(passed=1)
        assert fake.ledger.total == 1
        again = run(tests.format(said="please"))
        again.assert_outcomes(passed=1)
        again.stdout.fnmatch_lines(["*1 model call, 1 replayed*"])
        run(tests.format(said="now!")).assert_outcomes(errors=1)
        assert fake.ledger.total == 1


def test_a_key_that_is_missing_is_an_error_of_the_test(run: Run):
    """What ends a run of evals is told with each test; the others go on."""
    result = run(
        """
def test_bot(expect):
    expect("please", Passes("is polite"))

def test_other(expect):
    expect(True, "holds")
""",
        "--evenhand-live",
        "--evenhand-judge=openai:gpt-5-mini",
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["no verdict:*", "! auth: no API key for openai:gpt-5-mini (Set *"])


def test_a_judge_that_nobody_names_is_told_with_what_to_do(run: Run):
    """As an expectation that asks for one, as a fixture, and as a name that nobody knows."""
    tests = """
def test_expects(expect):
    expect("please", Passes("is polite"))

def test_asks(judge): pass
"""
    result = run(tests)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*no judge is named", "  Write evenhand_judge =*"])
    result.stdout.fnmatch_lines(["*usage: no judge is named*"])
    result = run(tests, "--evenhand-judge=opnai:gpt")
    result.stdout.fnmatch_lines(["the judge: provider 'opnai:gpt' is not known*"])


def test_a_fixture_of_ones_own_may_return_the_name_of_a_judge(run: Run):
    """It is made a provider as the option's is."""
    result = run("""
@pytest.fixture
def judge():
    return "echo"

def test_bot(expect):
    expect('x', Passes("is polite"))
""")
    result.stdout.fnmatch_lines(["*judge: asked twice*"])


def test_runs_that_cannot_be_kept_are_told_before_anything_is_asked(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """The test that asks first says so."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "file"))
    result = run("def test_bot(expect): expect(True, 'holds')")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["runs cannot be kept in *"])


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("expect(False, 'holds')", "finished"),
        ("raise KeyboardInterrupt", "interrupted"),
        ("pytest.exit('enough', returncode=0)", "interrupted"),
    ],
)
def test_a_session_that_ends_early_leaves_a_run_that_says_so(
    run: Run, pytester: pytest.Pytester, body: str, status: str
):
    """What was settled until then is in it; --maxfail is an end like any other, Ctrl-C leaves no verdict."""
    run(
        f"""
def test_one(expect): expect(True, "holds")
def test_two(expect): {body}
def test_three(expect): expect(True, "holds")
""",
        "--maxfail=1",
    )
    (path,) = kept(pytester)
    with RunFile.open(path) as found:
        assert found.meta.status == status
        settled, planned = found.totals().trials, found.meta.planned
        assert (settled == planned < 3) if status == "finished" else (settled < planned == 3)
        assert document(found)["verdict"] == ("failed" if status == "finished" else "undecided")


def test_nothing_is_kept_or_said_where_nothing_is_expected(run: Run, pytester: pytest.Pytester):
    """The plugin is inert until a test asks for it; -q leaves out its last line."""
    result = run("def test_plain(): pass")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*evenhand:*")
    assert not (pytester.path / ".evenhand").exists()
    quiet = run("def test_bot(expect): expect(True, 'holds')", "-q")
    quiet.stdout.no_fnmatch_line("*evenhand:*")


def test_loading_the_plugin_imports_next_to_nothing():
    """Whoever has it installed and does not use it does not notice."""
    script = (
        "import sys, pytest; before = set(sys.modules); import evenhand.doors.pytest_plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    ours = "core core.lazy core.public_names core.version doors doors.pytest_plugin"
    assert done.stdout.split() == ["evenhand", *(f"evenhand.{name}" for name in ours.split())]


def test_workers_of_xdist_keep_a_run_each_and_share_the_cache(run: Run, pytester: pytest.Pytester):
    """The one who prints tells of all of them."""
    result = run(
        """
@pytest.mark.parametrize("n", range(4))
def test_bot(expect, n):
    expect(n != 2, "is not two")

@pytest.mark.repeats(2)
def test_error(expect):
    with expect.that("can be read"):
        raise KeyError("total")
""",
        "-p",
        "xdist.plugin",
        "-n2",
    )
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines(["evenhand: 6 expectations: 3 met, 1 missed, 2 in error*"])
    runs = kept(pytester)
    trials = 0
    for path in runs:
        with RunFile.open(path) as found:
            assert found.meta.status == "finished"
            trials += found.totals().trials
    assert (len(runs), trials) == (2, 6)


def test_a_worker_whose_session_was_killed_leaves_a_run_without_a_verdict(
    pytester: pytest.Pytester,
):
    """A worker whose session was killed ends as ever; its run says that it is only a part."""
    pytester.makepyfile(
        test_bot="""
import os, signal
import pytest

@pytest.mark.parametrize("n", range(60))
def test_bot(expect, n):
    if n == 1:
        session = os.getppid()
        os.kill(session, signal.SIGKILL)
        while os.getppid() == session:
            pass
    expect(True, "holds")
"""
    )
    plugins = ["-p", "xdist.plugin", "-p", "evenhand.doors.pytest_plugin"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", *plugins, "-n1", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=pytester.path, env=environment, check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    (path,) = kept(pytester)
    end, status = time.monotonic() + 60, "running"
    while status == "running" and time.monotonic() < end:
        with RunFile.open(path) as found:
            status = found.meta.status
    assert status == "interrupted"
    with RunFile.open(path) as found:
        assert 2 <= found.totals().trials < found.meta.planned == 60
        assert document(found)["verdict"] == "undecided"


def test_a_project_names_the_judge_and_a_scorer_another(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """As in eval sets: the scorer's own, then pytest's, the project's, the environment's."""
    pytester.path.joinpath("pyproject.toml").write_text(
        "[tool.evenhand]\njudge = 'openai:project'\n"
    )
    monkeypatch.setenv("EVENHAND_JUDGE", "openai:environment")
    tests = """
def test_bot(expect):
    expect("please", Passes("is polite"))
    expect("please", Passes("is polite", judge="anthropic:scorer"))
    expect("please", Passes("is polite", judge="opnai:x"))
"""
    with FakeProvider(Script([Rule((), JUDGED)])) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        result = run(tests, "--evenhand-live")
        assert {seen.model for seen in fake.requests} == {"project", "scorer"}
        pytester.path.joinpath("pyproject.toml").unlink()
        run(tests, "--evenhand-live")
        assert {seen.model for seen in fake.requests} == {"project", "scorer", "environment"}
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*no verdict: 1 of 3*", "*opnai:x' is not known", "*Did you mean 'openai'?*"]
    )


def test_a_projects_table_that_is_wrong_is_told(run: Run, pytester: pytest.Pytester):
    """With its file and line."""
    pytester.path.joinpath("pyproject.toml").write_text("[tool.evenhand]\njugde = 'openai:x'\n")
    result = run("def test_bot(expect):\n    expect(True, 'x')\n")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*pyproject.toml:2: *has no 'jugde'*", "*Did you mean 'judge'?*"])


def test_a_judge_of_your_own_without_an_answer_is_no_verdict(run: Run):
    """What it answers is given to the test; where it answers nothing, the test has neither passed nor failed."""
    head = """
from evenhand import Message
from evenhand.scorers import CustomJudge, Graded, Judgement

class Tone(Judgement):
    warmth: Graded[1, 5]

class ToneJudge(CustomJudge[Tone]):
    def messages(self, output):
        return [Message("user", output)]

WARM = Scripted(('{"warmth": {"reasoning": "r", "score": 4}}',))
MUTE = Scripted(("no idea",), id="mute")
"""
    result = run(
        head
        + """
async def test_warm(expect):
    tone = await expect.now("dear", ToneJudge(judge=WARM))
    expect(tone.warmth.score, at_least=4, label="warmth")

async def test_mute(expect):
    await expect.now("dear", ToneJudge(judge=MUTE))

async def test_missed(expect):
    expect(False, "holds")
    await expect.now("dear", ToneJudge(judge=MUTE))
"""
    )
    result.assert_outcomes(passed=1, errors=1, failed=1)


def test_markers_of_a_projects_own_are_left_alone(run: Run, pytester: pytest.Pytester):
    """A project that registers `cases` or `repeats` means its own; one that doesn't may have labels of this name."""
    result = run("""
@pytest.mark.cases("smoke", "nightly")
def test_label():
    pass
""")
    result.assert_outcomes(passed=1)
    pytester.makeini(
        "[pytest]\naddopts = -p evenhand.doors.pytest_plugin --strict-markers\n"
        "markers =\n    repeats(times, pause): ours\n    cases: ours\n"
    )
    result = run("""
@pytest.fixture
def case():
    return "mine"

@pytest.mark.cases("none.jsonl")
@pytest.mark.repeats("often", pause=1)
def test_it(case):
    assert case == "mine"
""")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("def test_it(expect):\n    pass", True),
        ("async def test_it(\n    case: Case,\n    expect: Expect,\n):", True),
        ('@pytest.mark.usefixtures("expect")', True),
        ("import evenhand", True),
        ("def test_it():\n    expected = 1", False),
        ("from playwright.sync_api import expect\n\ndef test_it(page):\n    expect(page)", False),
    ],
)
def test_a_process_is_guarded_only_where_the_fixture_may_be_used(
    text: str, may: bool, tmp_path: Path
):
    """A word that everybody's tests have is none of ours: their process is not forked."""
    (tmp_path / "test_it.py").write_text(text)
    assert _may_expect(tmp_path / "test_it.py", tmp_path) is may


def test_an_async_test_may_ask_for_the_fixture_by_name(run: Run):
    """In a task of its own, with a context of its own."""
    result = run("""
async def test_it(request):
    expect = request.getfixturevalue("expect")
    expect("in 30 days", Contains("30 days"))
""")
    result.assert_outcomes(passed=1)
