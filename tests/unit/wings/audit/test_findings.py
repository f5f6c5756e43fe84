"""What an audit finds in suites with one fault each, and that it says nothing of what has none."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.wings.audit.audits import audit, case, check, config, evals, examine, findings

from evenhand.wings.audit.findings import findings_of

DAYS = check("contains", "30 days")
OTHER = case("What does a parcel cost?", check("contains", "4.20 euros"))


@pytest.mark.parametrize(
    ("test", "finding"),
    [
        (case("How long?", check("python", "True")), "cant_fail"),
        (case("How long?", check("regex", ".*")), "cant_fail"),
        (case("How long?"), "cant_fail"),
        (case("How long?", check("word-count", {"max": 9000})), "cant_fail"),
        (case("How long?", DAYS, check("not-contains", "30")), "cant_pass"),
        (case("How long?", check("equals", "a"), check("equals", "b")), "cant_pass"),
        (case("How long?", check("equals", "a"), check("contains", "b")), "cant_pass"),
        (case("How long?", check("starts-with", "Hi"), vars={"expected": "30 days"}), "cant_pass"),
        (case("Is it 30 days?", DAYS), "in_prompt"),
        (case("How long?", DAYS, vars={"hint": "x"}), ""),
        (case("How long?", DAYS, check("latency", threshold=1000)), ""),
        (case("How long?", DAYS, check("word-count", {"max": 50})), ""),
        (case("How long?", check("is-json"), check("contains", '"days": 30')), ""),
    ],
)
def test_a_fault_is_found_and_where_there_is_none_nothing_is_said(
    tmp_path: Path, test: Mapping[str, Any], finding: str
):
    """The kinds of findings that one case shows by itself."""
    kinds = {kind for _, kind, _ in findings(audit(config(tmp_path, [test, OTHER])))}
    assert (finding in kinds) if finding else (kinds == set())


def test_an_expectation_that_no_subject_fails_is_named(tmp_path: Path):
    """Beside one that decides, it can't fail, and the other one decides alone."""
    report = audit(
        config(tmp_path, [case("How long?", DAYS, check("python", "len(output) >= 0")), OTHER])
    )
    assert {(one.kind, one.expectation) for one in report.findings} == {
        ("cant_fail", 'python "len(output) >= 0"'),
        ("one_decides", 'contains "30 days"'),
    }


def test_a_reference_that_fails_is_a_finding_and_a_keyword_is_none(tmp_path: Path):
    """Where the same suite's references are no JSON either, that one of them is none says nothing."""
    wrong = [
        case(
            f"How long, {n}?",
            check("contains", f"{n} days"),
            vars={"expected": f"{n + (n == 3)} days"},
        )
        for n in range(1, 6)
    ]
    assert findings(audit(config(tmp_path, wrong))) == {
        ("How long, 3?", "cant_pass", "reference"),
        ("How long, 3?", "fails_good", "reference"),
    }
    keywords = [
        case(
            f"How long, {n}?",
            check("is-json"),
            check("contains", f"{n} days"),
            vars={"expected": f"{n} days"},
        )
        for n in range(1, 6)
    ]
    assert findings(audit(config(tmp_path, keywords))) == set()


def test_code_that_decides_by_chance_is_flaky(tmp_path: Path):
    """It is asked about the same text again. Its die falls alike each time that this test runs."""
    die = "vars(sys).setdefault('die_of_a_test', random.Random(1))"
    code = f"import random, sys\nreturn '30' in output and {die}.random() < 0.5"
    report = audit(
        config(tmp_path, [case("How long?", check("python", code), vars={"expected": "30"})])
    )
    assert "flaky" in {one.kind for one in report.findings}


def test_a_heavy_weight_that_overrules_the_others_decides_alone(tmp_path: Path):
    """By threshold, the light one is failed and the case passes all the same."""
    heavy = check("contains", "30", weight=10)
    light = check("contains", "in Bonn", weight=1)
    test = case("How long?", heavy, light, threshold=0.5, vars={"expected": "30 in Bonn"})
    other = case(
        "How far?", heavy, check("contains", "in Rome", weight=1), vars={"expected": "31 in Rome"}
    )
    report = audit(config(tmp_path, [test, other]))
    assert ("How long?", "one_decides", "") in findings(report)


def test_twins_are_found_across_files_and_parts_of_a_split(tmp_path: Path):
    """Cases of one eval in two parts are a leak; of two evals, the same data is asked twice on purpose."""
    code = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet(
    "shop",
    data=[
        Case("a", input="Can I return shoes?", tags=["train"]),
        Case("b", input="Could I return the shoes?", tags=["test"]),
        Case("c", input="Can I return a lamp?", tags=["test"]),
    ],
    model="openai:gpt-5-mini",
)


@evals.eval
async def one(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(case.input)).text, Contains("30 days"))


@evals.eval
async def two(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(case.input)).text, Contains("free"))
"""
    report = audit(evals(tmp_path, code))
    twins = [one for one in report.findings if one.kind == "twin"]
    assert {report.audits[one.case].key for one in twins} == {
        ("shop: one", "b"),
        ("shop: two", "b"),
    }
    assert "One is in train, the other in test." in twins[0].detail


def test_twins_are_found_in_eval_sets_of_two_files(tmp_path: Path):
    """Two files have data of their own: a question that both ask is asked twice by mistake."""
    for name, question in (
        ("basket", "Can I return shoes?"),
        ("advice", "May I return the shoes?"),
    ):
        code = f"""
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet("{name}", data=[Case("a", input="{question}")], model="openai:gpt-5-mini")


@evals.eval
async def says(case: Case, model: Model, expect: Expect) -> None:
    expect((await model.generate(case.input)).text, Contains("30 days"))
"""
        (tmp_path / f"{name}_evals.py").write_text(code, "utf-8")
    report = audit(tmp_path)
    (twin,) = [one for one in report.findings if one.kind == "twin"]
    assert {audit.key[0] for audit in report.audits} == {"advice: says", "basket: says"}
    assert "shoes" in twin.answer


@pytest.mark.parametrize(("reference", "leaks"), [("42", True), ("4", False)])
def test_a_variable_with_the_reference_is_a_leak_unless_one_letter_says_it(
    tmp_path: Path, reference: str, leaks: bool
):
    """One letter stands in many texts by chance."""
    test = case("How many?", check("equals", reference), vars={"hint": reference})
    other = case("What does it cost?", check("equals", "9 euros"), vars={"hint": "ask"})
    report = audit(config(tmp_path, [test, other], prompts=["{{question}} ({{hint}})"]))
    assert (("How many?", "in_prompt", "prompt") in findings(report)) is leaks


def test_findings_come_in_the_order_of_the_verdicts_that_hang_on_them(tmp_path: Path):
    """A case that is repeated decides more."""
    often = case("How often?", check("python", "True"), options={"repeat": 3})
    report = audit(config(tmp_path, [case("How long?", check("python", "True")), often, OTHER]))
    verdicts = [one.verdicts for one in report.findings]
    assert verdicts == sorted(verdicts, reverse=True)


AGENT = """
from evenhand import Case, EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet("shop", data=[{"input": f"How long, {n}?"} for n in range(3)], model="openai:gpt-5-mini")


def any_length(output):
    return len(output) >= 0


@evals.eval
async def acts(case: Case, model: Model, expect: Expect) -> str:
    reply = await model.generate(case.input)
    ACTS
    expect(reply.text, Contains("30 days"))
    expect(reply.text, any_length)
    return reply.text
"""


@pytest.mark.parametrize(
    ("acts", "idle"),
    [("pass", True), ("with expect.step('refund', {'id': 1}) as step: step.result = 'ok'", False)],
)
def test_code_that_may_look_at_what_was_done_is_not_blamed_for_passing_all_texts(
    tmp_path: Path, acts: str, idle: bool
):
    """An agent's subjects do nothing, so nothing that they say could fail it."""
    report = audit(evals(tmp_path, AGENT.replace("ACTS", acts)))
    assert any(one.kind == "cant_fail" for one in report.findings) is idle


@pytest.mark.parametrize(
    ("filled", "leaks"),
    [
        ("c['question'] + ' ' + c['expected']", True),
        ("c['question']", False),
    ],
)
def test_a_prompt_that_code_makes_leaks_the_reference_where_it_fills_it_in(
    tmp_path: Path, filled: str, leaks: bool
):
    """No tag of the prompt says so: it is found in what is sent."""
    code = f"def make(context):\n    c = context['vars']\n    return {filled}\n"
    (tmp_path / "p.py").write_text(code)
    tests = [
        case(f"How long, {n}?", check("equals", days), vars={"expected": days})
        for n, days in enumerate(("30 days", "14 days"))
    ]
    report = audit(config(tmp_path, tests, prompts=["file://p.py:make"]))
    assert any(kind == "in_prompt" for _, kind, _ in findings(report)) is leaks


@pytest.mark.parametrize(("count", "blamed"), [(2, False), (3, True)])
def test_an_expectation_is_blamed_once_three_wrong_answers_pass_it(
    tmp_path: Path, count: int, blamed: bool
):
    """Two may well be right by its lights."""
    audits = examine(
        config(tmp_path, [case("How long?", DAYS, check("python", "len(output) >= 0")), OTHER])
    )
    audits[0].attempts = [one for one in audits[0].attempts if not one.subject.must_pass][:count]
    kinds = {one.kind for one in findings_of(audits) if one.case == 0}
    assert ("cant_fail" in kinds) is blamed
