"""Runs as JUnit XML."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.runs import Make, result

from evenhand import EvalSet, at_least, at_most, run
from evenhand.analysis.trust.run_verdict import verdict_of
from evenhand.core.requirement import PASSED, Bound, Requirement
from evenhand.core.score import Outcome
from evenhand.core.variant import Variant
from evenhand.render.export import export
from evenhand.render.junit import write_junit
from evenhand.store.gate_verdicts import keep_gate_verdict
from evenhand.store.runfile import RunFile

pytestmark = pytest.mark.usefixtures("home_of_its_own")


def read(run: RunFile) -> ET.Element:
    """The suite, as a reader of XML sees it."""
    out = io.StringIO()
    write_junit(run, out)
    (suite,) = ET.fromstring(out.getvalue()).findall("testsuite")
    return suite


async def test_each_trial_is_a_test_case(summaries_run: RunFile, tmp_path: Path):
    """Columns are classes, cases are names; the counts are those of the run."""
    assert export(summaries_run, tmp_path / "r.xml") == 24
    suite = read(summaries_run)
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "24", "failures": "9", "errors": "0", "skipped": "0"}
    cases = suite.findall("testcase")
    assert {case.get("classname") for case in cases} == {"basic", "better", "best"}
    assert (cases[0].get("name"), cases[0].get("time")) == ("tides [case0]", "0.500")
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == 24
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["verdict"] == "failed"


async def test_failures_errors_and_what_did_not_apply_are_told_apart(make_run: Make):
    """Each has its element; a failure lists every expectation, an error has its kind and its cure."""
    outcomes = (
        Outcome("is short", "pass", 1.0),
        Outcome("words", "fail", 140.0, "140, wanted at most 120"),
        Outcome("is polite", "error", None, "no verdict", error="judge"),
    )
    trials = [
        result(0, ok=False, outcomes=outcomes, output="<p>too long</p>", log="printed"),
        result(1, ok=None),
        replace(result(2), outcome="not_applicable", reason="no context"),
        result(3),
    ]
    failed, broken, skipped, passed = read(await make_run(trials)).findall("testcase")
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("message") == "words (140): 140, wanted at most 120"
    assert failure.text == (
        "pass: is short\nfail: words (140): 140, wanted at most 120\nerror: is polite: no verdict"
        "\n\noutput:\n<p>too long</p>"
    )
    assert failed.findtext("system-out") == "printed"
    error = broken.find("error")
    assert error is not None
    assert (error.get("type"), error.get("message")) == ("rate-limited", "asked too often")
    assert error.text == "Lower -j."
    assert [(part.tag, part.get("message")) for part in skipped] == [("skipped", "no context")]
    assert list(passed) == []


async def test_half_a_run_is_not_green(make_run: Make):
    """Trials that were never run are one error more."""
    suite = read(await make_run([result(0)], planned=3, status="stopped", message="wrong key"))
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")
    error = suite.findall("testcase")[-1].find("error")
    assert error is not None
    assert error.get("message") == "2 trials not run: wrong key"


async def test_what_an_early_decision_left_out_is_no_error(make_run: Make):
    """The counts say what the file has: one test case for each trial, and none for what nobody wanted any more."""
    suite = read(await make_run([result(0)], planned=3, status="decided"))
    assert (suite.get("tests"), suite.get("errors")) == ("1", "0")
    assert len(suite.findall("testcase")) == 1


async def test_repeats_have_names_of_their_own(make_run: Make):
    """The same case twice is two test cases."""
    trials = [result(0, case="a"), result(1, case="a")]
    run = await make_run(trials, repeats=2, case_count=1)
    names = [case.get("name") for case in read(run).findall("testcase")]
    assert names[0] == "a (repeat 1)"


@pytest.mark.parametrize(
    "evil", ["<x>&\"'", "]]>", "\x00\x1b[2J", "\ud800", "\ufffe\uffff", "\u202e"]
)
async def test_whatever_a_model_wrote_the_file_can_be_read(make_run: Make, evil: str):
    """Markup is text, and what XML has no place for is shown or replaced."""
    outcome = Outcome(evil, "fail", 0.0, evil)
    trial = result(0, ok=False, case=evil, outcomes=(outcome,), output=evil, reason=evil, log=evil)
    named = "lone half" if evil == "\ud800" else evil
    suite = read(await make_run([trial], (Variant(0, named, named),), title=named))
    assert len(suite.findall("testcase")) == 1


async def test_no_trials_are_a_file_too(make_run: Make):
    """With one error: nothing was run."""
    assert read(await make_run([], planned=2)).get("errors") == "1"


def bounded(right: int, wrong: int, broken: int = 0, **bounds: object) -> RunFile:
    """A run of a set whose cases are right, wrong or in error, in these numbers."""
    kinds = ["right"] * right + ["wrong"] * wrong + ["broken"] * broken
    cases = [{"id": f"ü{i}", "input": kind} for i, kind in enumerate(kinds)]
    evals = EvalSet("bounded", data=cases, **bounds)

    @evals.eval
    def judged(case, expect) -> str:
        if case.input == "broken":
            msg = "no answer"
            raise RuntimeError(msg)
        expect(case.input == "right", "is right", metric="accuracy")
        return case.input

    return run(evals).file


@pytest.mark.parametrize(
    ("trials", "bounds", "verdict"),
    [
        ((4, 1, 0), {"pass_rate": 0.8}, "passed"),
        ((4, 0, 1), {"pass_rate": 0.8}, "passed"),
        ((3, 2, 0), {"pass_rate": 0.8}, "failed"),
        ((3, 1, 1), {"pass_rate": 0.8}, "undecided"),
        ((3, 0, 2), {"pass_rate": 0.8}, "undecided"),
        ((4, 1, 0), {}, "failed"),
        ((1, 4, 0), {"require": {"accuracy": at_least(0.1)}}, "passed"),
        ((5, 0, 0), {"require": {"accuracy": at_most(0.5)}}, "failed"),
        ((5, 0, 0), {"require": {"accuracy": at_least(0.5), "none": at_least(1)}}, "undecided"),
        ((2, 1, 0), {"require": {"accuracy": at_least(0.5), "none": at_least(1)}}, "undecided"),
    ],
)
def test_the_suite_is_green_where_the_run_passed_and_only_there(
    trials: tuple[int, int, int], bounds: dict[str, object], verdict: str
):
    """Failures mean that it failed, errors that it is undecided; the counts are those of the elements."""
    file = bounded(*trials, **bounds)
    suite = read(file)
    properties = {p.get("name"): p.get("value") for p in suite.iter("property")}
    assert properties["verdict"] == verdict_of(file) == verdict
    failures, errors = len(list(suite.iter("failure"))), len(list(suite.iter("error")))
    assert (suite.get("failures"), suite.get("errors")) == (str(failures), str(errors))
    assert suite.get("tests") == str(len(suite.findall("testcase")))
    assert bool(failures or errors) == (verdict != "passed")
    assert verdict != "failed" or failures
    assert verdict != "undecided" or errors


def test_what_bounds_allow_is_told_all_the_same():
    """In the output of a test case that passes; a bound that is missed is a test case with both numbers."""
    *_, allowed = read(bounded(4, 1, pass_rate=0.8)).findall("testcase")
    assert [one.tag for one in allowed] == ["system-out"]
    assert "fail, within the bounds of the run\nfail: is right" in str(allowed[0].text)
    *_, missed = read(bounded(5, 0, require={"accuracy": at_most(0.5)})).findall("testcase")
    failure = missed.find("failure")
    assert failure is not None
    assert "accuracy 1" in str(failure.get("message"))
    assert "wanted at most 0.5" in str(failure.get("message"))


async def test_a_failed_repeat_of_a_test_that_passed_is_no_failure(make_run: Make):
    """One test passes with four of five, another fails with three; chosen by outcome, all that failed are failures."""
    trials = [
        result(variant * 5 + n, case="c", variant=variant, repeat=n, ok=n < 4 - variant)
        for variant in (0, 1)
        for n in range(5)
    ]
    required = tuple(
        Requirement(PASSED, Bound(at_least=0.8), (variant,), case="c") for variant in (0, 1)
    )
    two = [Variant(0, "test_a", ""), Variant(1, "test_b", "")]
    file = await make_run(trials, two, repeats=5, requirements=required)
    failed = [
        one.get("classname")
        for one in read(file).findall("testcase")
        if one.find("failure") is not None
    ]
    assert failed == ["test_b", "test_b"]
    places = [trial.index for trial in trials if trial.outcome == "fail"]
    chosen = file.only(places, "where status:fail", by_outcome=True)
    assert read(chosen).get("failures") == "3"


@pytest.mark.parametrize(
    ("verdict", "undecided", "elements"),
    [
        ("better", "", ()),
        ("not worse", "", ()),
        ("worse", "", ("failure",)),
        ("undecided", "", ("failure", "error")),
        ("undecided", "pass", ()),
        ("undecided", "fail", ("failure",)),
        ("nothing", "pass", ("failure", "error")),
    ],
)
async def test_the_run_of_a_gate_is_green_where_the_gate_lets_it_pass(
    make_run: Make, verdict: str, undecided: str, elements: tuple[str, ...]
):
    """A trial that failed before, too, is no failure of a pull request; the gate's own word stands beside the run's."""
    terms = {"gate": {"terms": {"undecided": undecided}}}
    file = await make_run([result(0), result(1, ok=False)], settings=terms)
    keep_gate_verdict(file.path, verdict)
    with RunFile.open(file.path) as gated:
        suite = read(gated)
    assert {one.tag for one in suite.iter() if one.tag in ("failure", "error")} == {*elements}
    assert {p.get("name"): p.get("value") for p in suite.iter("property")}["gate"] == verdict


async def test_the_run_of_a_gate_that_became_worse_without_a_failed_trial_is_not_green(
    make_run: Make,
):
    """As where scores fell: the failure says that the gate found it worse."""
    file = await make_run([result(0)])
    keep_gate_verdict(file.path, "worse")
    with RunFile.open(file.path) as gated:
        (failure,) = read(gated).iter("failure")
    assert "worse" in str(failure.get("message"))
