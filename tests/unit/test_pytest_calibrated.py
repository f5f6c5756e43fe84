"""Judges that people have checked, in pytest: `calibrated` of the project, corrected numbers below the summary."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.doors.test_pytest_plugin import JUDGED, Run, kept, run

from evenhand.analysis.trust.calibration import calibrate
from evenhand.analysis.trust.calibration_file import place_of, write_calibration
from evenhand.analysis.trust.labels.drawing import draw, drawn_items
from evenhand.store.labels.stored_draws import add_metric_labels
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Script
from evenhand.testing.script import Rule

__all__ = ["run"]
pytest_plugins = ("pytester",)

TESTS = """
replies = itertools.count()

@pytest.mark.repeats(4, at_least=0.5)
@pytest.mark.parametrize("n", range(10))
def test_bot(expect, n):
    expect(f"reply {next(replies):02d}", Passes("is polite"))
"""
JUDGE = Script([Rule((r"reply \d[369]",), {**JUDGED, "passes": False}), Rule((), JUDGED)])
LIVE = ("--evenhand-live", "--evenhand-judge=openai:gpt-5-mini")


def project(pytester: pytest.Pytester, calibrated: str) -> None:
    """What the project says of its judges."""
    text = f"[tool.evenhand]\ncalibrated = '{calibrated}'\n"
    pytester.path.joinpath("pyproject.toml").write_text(text)


def labelled(path: Path) -> None:
    """Somebody labels all of a run, agrees with the judge but on one output, and calibrates."""
    with RunFile.open(path) as found:
        items = list(drawn_items(found, [draw(found, 40, seed=1)]))
    verdicts = ["fail" if str(i.trial.output)[-1] in "0369" else "pass" for i in items]
    labels = [(i.trial.index, i.metric, v) for i, v in zip(items, verdicts, strict=True)]
    add_metric_labels(path, "ann", labels)  # type: ignore[arg-type]
    with RunFile.open(path) as found:
        write_calibration(calibrate(found), place_of(found.meta))


def test_a_session_does_not_pass_while_a_required_calibration_is_missing(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """All tests pass and pytest exits with 1; with a calibration it exits with 0, and shows the corrected rate."""
    project(pytester, "required")
    with FakeProvider(JUDGE) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        result = run(TESTS, *LIVE)
        result.assert_outcomes(passed=10)
        assert result.ret == pytest.ExitCode.TESTS_FAILED
        result.stdout.fnmatch_lines(
            [
                "evenhand: judged metrics: calibration is required, so there is no verdict without it",
                '*passes "is polite": 70 % [[]*not checked against people',
                "evenhand: 40 expectations: 28 met, 12 missed*",
            ]
        )
        quiet = run(TESTS, "-qq", *LIVE)
        assert quiet.ret == pytest.ExitCode.TESTS_FAILED
        quiet.stdout.fnmatch_lines(["evenhand: judged metrics: calibration is required*"])
        (newest, *_) = kept(pytester)
        with RunFile.open(newest) as found:
            assert found.meta.settings == {"calibrated": "required"}
        labelled(newest)
        asked = fake.ledger.total
        again = run(TESTS, *LIVE)
        assert fake.ledger.total == asked
        assert again.ret == pytest.ExitCode.OK
        again.stdout.fnmatch_lines(
            ["evenhand: judged metrics: pass rates", "*corrected, 40 labels, today*"]
        )
        failing = run(TESTS.replace("0.5", "0.9"), *LIVE)
        failing.assert_outcomes(failed=10)
        pytester.path.joinpath("calibration.json").write_text("{")
        damaged = run(TESTS, *LIVE)
        assert damaged.ret == pytest.ExitCode.TESTS_FAILED
        damaged.stdout.fnmatch_lines(["! *calibration.json is not a calibration*"])
        project(pytester, "accepted")
        assert run(TESTS, *LIVE).ret == pytest.ExitCode.OK
        pytester.path.joinpath("calibration.json").unlink()
        accepted = run(TESTS, *LIVE)
        assert accepted.ret == pytest.ExitCode.OK
        accepted.stdout.fnmatch_lines(
            ["evenhand: judged metrics: pass rates (accepted without calibration)"]
        )


@pytest.mark.thorough
def test_a_session_of_some_tests_is_corrected_by_a_calibration_of_more(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """Each test by itself; of some cases of a test, the calibration is stale, and the next step is named."""
    with FakeProvider(JUDGE) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        tests = f"{TESTS}\ndef test_other(expect):\n    expect('reply 01', Passes('is polite'))\n"
        run(tests, *LIVE)
        (newest, *_) = kept(pytester)
        labelled(newest)
        some = run(tests, *LIVE, "-k", "not test_other")
        part = run(tests, *LIVE, "-k", "not test_other and not 1").stdout
    some.stdout.fnmatch_lines(["*corrected, 39 labels, today*"])
    part.fnmatch_lines(["*calibration is stale: other cases*"])
    part.fnmatch_lines(
        ["    to calibrate again: evenhand label 0* --draw 36, then evenhand calib*"]
    )


@pytest.mark.thorough
def test_workers_of_xdist_do_not_pass_either(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """Whoever prints looks at the runs of all of them."""
    project(pytester, "required")
    tests = """
@pytest.mark.parametrize("n", range(4))
def test_bot(expect, n):
    expect(f"reply {n}", Passes("is polite"))
"""
    with FakeProvider(JUDGE) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        result = run(tests, *LIVE, "-p", "xdist.plugin", "-n2")
    result.assert_outcomes(passed=4)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.stdout.str().count("calibration is required") == 2


def test_a_session_without_a_judge_is_what_it_was(run: Run, pytester: pytest.Pytester):
    """Nothing is required of it, and nothing is said."""
    project(pytester, "required")
    result = run("def test_bot(expect):\n    expect(True, 'holds')\n")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*judged metrics*")


def test_many_judged_tests_are_not_all_listed(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    """Ten lines, and where the others are."""
    tests = "\n".join(
        f"def test_{n}(expect):\n    expect('reply', Passes('is polite'), metric='polite {n}')"
        for n in range(15)
    )
    with FakeProvider(JUDGE) as fake:
        for name, value in fake.env().items():
            monkeypatch.setenv(name, value)
        result = run(tests, *LIVE)
    assert result.ret == pytest.ExitCode.OK
    assert result.stdout.str().count("not checked against people") <= 10
    result.stdout.fnmatch_lines(["    … and * more lines: evenhand show"])
