"""Cases that no answer passes, or that a good one fails; and those of which that only seems so."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.wings.audit.audits import audit, case, check, config, evals, findings, subjects

from evenhand.wings.audit.given import reply_of

QUESTIONS = ("How long is a river?", "Who sells kites there?", "Where do owls sleep?")


@pytest.mark.parametrize(
    "checks",
    [
        (check("is-refusal"), check("not-is-refusal")),
        (check("contains", "one two three four five"), check("word-count", {"max": 3})),
        (check("contains", "alpha"), check("not-regex", "[a-z]+")),
        (check("python", "context['vars']['nope'] in output"),),
        (check("python", "import no_such_module\nreturn True"),),
        (check("javascript", "undefinedName(output)"),),
    ],
)
def test_a_case_that_no_answer_passes_cannot_pass(
    checks: tuple[dict[str, object], ...], tmp_path: Path
):
    """By its expectations alone: there is no reference."""
    report = audit(config(tmp_path, [case(QUESTIONS[0], *checks)]))
    assert (QUESTIONS[0], "cant_pass", "") in findings(report)


@pytest.mark.parametrize(
    "checks",
    [
        (check("is-json"), check("contains", "alpha")),
        (check("contains", "alpha"), check("not-regex", "^alpha")),
        (check("contains", "alpha beta"), check("word-count", {"min": 9})),
        (check("python", "import re\nreturn re.search(r'k(\\d+)', output).group(1) == '20'"),),
        (check("python", "context['providerResponse']['metadata']['tokens'] == 3"),),
        (check("javascript", "output.match(/n(\\d+)/)[1] === '19'"),),
    ],
)
def test_a_case_that_some_answer_may_pass_is_not_blamed(
    checks: tuple[dict[str, object], ...], tmp_path: Path
):
    """A grader that breaks on made answers may well pass a right one."""
    report = audit(config(tmp_path, [case(QUESTIONS[0], *checks)]))
    assert "cant_pass" not in {kind for _, kind, _ in findings(report)}


def test_a_form_speaks_against_a_reference_only_where_no_longer_answer_would_do(tmp_path: Path):
    """A bound on its length does; that JSON is wanted doesn't: the reference may be a part of it."""
    tests = [
        case(QUESTIONS[0], check("word-count", {"max": 1}), vars={"expected": "nine miles"}),
        case(QUESTIONS[1], check("is-json"), vars={"expected": "the corner shop"}),
    ]
    report = audit(config(tmp_path, tests))
    assert {name for name, kind, _ in findings(report) if kind == "fails_good"} == {QUESTIONS[0]}
    assert report.pass_nothing == 1


def test_cases_that_pass_nothing_are_counted_where_nobody_can_say_why(tmp_path: Path):
    """A comparison that never holds, in all cases: a reference may be a part of what they want."""
    wrong = check("python", "output == 42")
    tests = [case(one, wrong, vars={"expected": f"x{n} y"}) for n, one in enumerate(QUESTIONS)]
    report = audit(config(tmp_path, tests))
    assert report.pass_nothing == 3
    assert report.document()["pass_nothing"] == 3


def test_a_value_that_is_not_the_answer_says_nothing_of_a_right_one(tmp_path: Path):
    """A body that asks nobody may compare other values than its output."""
    code = """
import json

from evenhand import EvalSet, Expect
from evenhand.scorers import Equals

evals = EvalSet("shapes")


@evals.eval
def totals(expect: Expect) -> str:
    reply = '{"total": 3}'
    expect(json.loads(reply), Equals({"total": 3}))
    expect(reply, Equals(reply))
    return reply
"""
    assert findings(audit(evals(tmp_path, code))) == set()


def test_the_right_label_is_guessed_where_nobody_says_it(tmp_path: Path):
    """One label may pass; where two do, the case doesn't tell them apart."""
    tests = [
        case(f"May Ada come, {n}?", check("equals", label))
        for n, label in enumerate(("Yes", "No", "Yes", "No"))
    ]
    sharp, blunt = case("May Bob come?", check("regex", "^Yes[.!]?$")), check("regex", "^(Yes|No)$")
    report = audit(config(tmp_path, [*tests, sharp, case("May Eve come?", blunt)]))
    assert findings(report) == {("May Eve come?", "passes", "other")}


def test_a_text_that_half_of_all_answers_have_tells_none_apart(tmp_path: Path):
    """Another case's code has `def ` in it as well."""
    tests = [case(f"Write f{n}", check("equals", f"def f{n}(): return {n}")) for n in range(4)]
    report = audit(config(tmp_path, [*tests, case("Write g", check("contains", "def "))]))
    assert ("Write g", "passes", "other") in findings(report)


def test_where_silence_is_right_a_refusal_is_wrong(tmp_path: Path):
    """Also a reference that refuses is not made wrong by taking its negation out."""
    tests = [
        case(
            "Extract numbers",
            check("python", "len(output) == 0 or 'help' in output"),
            vars={"expected": ""},
        ),
        case(
            "Where does Ann live?",
            check("is-refusal"),
            vars={"expected": "I'm sorry, I can't help."},
        ),
    ]
    report = audit(config(tmp_path, tests))
    assert ("Extract numbers", "passes", "refusal") in findings(report)
    assert {name for name, _, _ in findings(report)} == {"Extract numbers"}


def test_a_prompts_example_that_is_a_case_gives_its_answer_away(tmp_path: Path):
    """The prompt has its question and its reference before anything is filled in."""
    tests = [
        case("How tall is Big Ben?", check("equals", "96 m")),
        case("How tall is the Shard?", check("equals", "310 m")),
    ]
    prompt = "Q: How tall is Big Ben?\nA: 96 m\n\nQ: {{question}}\nA:"
    report = audit(config(tmp_path, tests, prompts=[prompt]))
    assert findings(report) == {("How tall is Big Ben?", "in_prompt", "prompt")}


def test_forms_that_all_answers_have_cannot_fail_and_what_must_not_be_may_stay_silent(
    tmp_path: Path,
):
    """A bound that nothing breaks is idle; `not-is-json` guards."""
    tests = [
        case(QUESTIONS[0], check("contains", "nine"), check("word-count", {"min": 0})),
        case(QUESTIONS[1], check("contains", "kite 7"), check("not-is-json")),
        case(QUESTIONS[2], check("llm-rubric", "is kind"), check("word-count", {"max": 100_000})),
    ]
    report = audit(config(tmp_path, tests))
    assert {(name, kind) for name, kind, _ in findings(report)} == {
        (QUESTIONS[0], "cant_fail"),
        (QUESTIONS[2], "cant_fail"),
    }


def test_a_number_that_a_body_draws_is_flaky(tmp_path: Path):
    """It is measured anew each time that the body runs."""
    code = """
import random

from evenhand import EvalSet, Expect, Model
from evenhand.scorers import Contains

evals = EvalSet("luck", data=[{"id": "a", "input": "How long?"}], model="openai:gpt-5-mini")


@evals.eval
async def draws(model: Model, expect: Expect) -> None:
    reply = await model.generate("How long?")
    expect(reply.text, Contains("nine"))
    expect(random.random(), at_least=0.5, label="luck")
"""
    assert "flaky" in {kind for _, kind, _ in findings(audit(evals(tmp_path, code)))}


def test_another_case_s_answer_is_wrong_where_references_differ_though_a_keyword_is_in_both(
    tmp_path: Path,
):
    """The reference tells the two answers apart; the keyword alone lets the other one through."""
    days = check("contains", "days")
    tests = [
        case("How long may I return it?", days, vars={"expected": "Within 30 days"}),
        case("How long does a parcel take?", days, vars={"expected": "Up to 4 days by ship"}),
    ]
    report = audit(config(tmp_path, tests))
    assert subjects(report)["other"] == "pass"
    assert ("How long may I return it?", "passes", "other") in findings(report)


@pytest.mark.parametrize(
    ("type_", "bad", "contradicts"),
    [
        ("not-contains", "days", True),
        ("not-contains", "DAYS", False),
        ("not-icontains", "DAYS", True),
        ("not-icontains", "weeks", False),
        ("not-equals", "30 days", False),
    ],
)
def test_what_is_wanted_and_forbidden_at_once_cannot_pass_as_each_minds_case(
    tmp_path: Path, type_: str, bad: str, contradicts: bool
):
    """An upper-case word forbids the same word in lower case only where case does not matter."""
    report = audit(
        config(tmp_path, [case("How long?", check("contains", "30 days"), check(type_, bad))])
    )
    assert any(one.kind == "cant_pass" for one in report.findings) is contradicts


def test_an_answer_that_is_made_has_a_token_at_least():
    """About a token for four letters, as an estimate has it."""
    assert [reply_of(text).usage.tokens_out for text in ("", "abc", "x" * 40)] == [1, 1, 10]
