"""What cannot come to a verdict is an error that nobody is asked for, said beforehand; all else is run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.core.errors import ConfigError
from evenhand.core.plan import Plan
from evenhand.core.run import TrialResult
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.overrides import Chosen
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

GOOD = {"type": "contains", "value": "r"}


@pytest.fixture
def fake() -> Iterator[FakeProvider]:
    """A vendor that answers everything, and judges everything to be fine."""
    verdict = json.dumps({"reason": "r", "pass": True, "score": 1})
    with FakeProvider(Script([Rule((), verdict)])) as served:
        yield served


def model(at: FakeProvider, key: str = "k", **more: Any) -> dict[str, Any]:
    """A model of the vendor's; without a key, at an address that is not this machine's by name."""
    base = f"{at.url}/v1" if key else "http://vendor.example/v1"
    return {"id": "openai:chat:m", "config": {"apiBaseUrl": base, "apiKey": key}, **more}


def planned(folder: Path, at: FakeProvider, **config: Any) -> Plan:
    """The plan of a config whose last test is fine."""
    base = {
        "prompts": ["Say {{x}}"],
        "providers": [model(at)],
        **config,
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(base))
    return load(folder, Chosen(env={}))


def ran(folder: Path, plan: Plan) -> list[TrialResult]:
    """What a plan's trials come to, in its order."""
    finished = door.run(plan, Settings(home=folder / "home", cache=False))
    assert finished.ending.status == "finished"
    with RunFile.open(finished.path) as run:
        return list(run.trials())


def fine(**more: Any) -> dict[str, Any]:
    """A test with nothing wrong."""
    return {"vars": {"x": "fine"}, "assert": [GOOD], **more}


def broken_tests(folder: Path, at: FakeProvider) -> dict[str, dict[str, Any]]:
    """Tests that cannot come to a verdict, by what is said of them."""
    (folder / "grader.py").write_text("def other(output, context): return True\n")
    (folder / "bad.py").write_text("def get_assert(:\n")
    judge = {"type": "llm-rubric", "value": "x"}

    def asserts(*items: Any) -> dict[str, Any]:
        return {"vars": {"x": "1"}, "assert": [GOOD, *items]}

    def options(**given: Any) -> dict[str, Any]:
        return {"vars": {"x": "1"}, "assert": [GOOD], "options": given}

    return {
        "'contain' is not known": asserts({"type": "contain", "value": "x"}),
        "regular expression": asserts({"type": "regex", "value": "(("}),
        "schema": asserts({"type": "is-json", "value": {"type": "nonsense"}}),
        "has no value": asserts({"type": "contains"}),
        "nowhere.py does not exist": asserts({"type": "python", "value": "file://nowhere.py"}),
        "has no function 'get_assert'": asserts({"type": "python", "value": "file://grader.py"}),
        "bad.py is not Python": asserts({"type": "python", "value": "file://bad.py"}),
        "gone.txt does not exist": asserts({"type": "equals", "value": "file://gone.txt"}),
        "gone.json does not exist": asserts({"type": "is-json", "value": "file://gone.json"}),
        "template": asserts({"type": "equals", "value": "{{ x"} | {"value": "{% if %}"}),
        "rubricPrompt: ": asserts({**judge, "provider": "echo", "rubricPrompt": "{% for %}"}),
        "gone.md": asserts({**judge, "provider": "echo", "rubricPrompt": "file://gone.md"}),
        "no API key for openai:chat:m": asserts({**judge, "provider": model(at, "")}),
        "no API key for openai:embedding:m": asserts(
            {"type": "similar", "value": "x", "provider": "openai:embedding:m"}
        ),
        "'llm-rubric' has no model to judge": asserts(judge),
        "provider 'nobody:x' is not known": asserts({**judge, "provider": "nobody:x"}),
        "in a set": asserts({"type": "assert-set", "assert": [GOOD, {"type": "contain in a set"}]}),
        "an assertion has no type": asserts({"value": "x"}),
        "threshold is 'x'": {**asserts(), "threshold": "x"},
        "not JavaScript": options(transform="output.+"),
        "gone.js": options(transform="file://gone.js"),
        "gone.py does not exist": options(transformVars="file://gone.py"),
        "prefix: ": options(prefix="{% if %}"),
        "there.txt does not exist": {"vars": {"x": "file://there.txt"}, "assert": [GOOD]},
        "unknown block tag: nope": {"vars": {"x": "{% nope %}"}, "assert": [GOOD]},
        "asserts.yaml does not exist": {"vars": {"x": "1"}, "assert": "file://asserts.yaml"},
        "score.py does not exist": {**asserts(), "assertScoringFunction": "file://score.py"},
    }


def test_a_test_that_cannot_come_to_a_verdict_is_not_paid_for(
    tmp_path: Path, fake: FakeProvider
) -> None:
    """Whatever is wrong with it: it is an error without a call, said with its place, and the others are run."""
    tests = broken_tests(tmp_path, fake)
    plan = planned(tmp_path, fake, tests=[fine(), *tests.values(), fine(vars={"x": "too"})])
    told = [str(problem) for problem in plan.broken]
    for said in tests:
        assert any(said in problem for problem in told), (said, told)
    assert all("promptfooconfig.json:1:" in problem for problem in told)
    trials = ran(tmp_path, plan)
    assert [trial.outcome for trial in trials] == ["pass", *["error"] * len(tests), "pass"]
    assert fake.ledger.total == 2
    for said, trial in zip(tests, trials[1:-1], strict=True):
        assert (trial.calls, trial.output) == (0, None), said
        assert trial.error is not None
        assert any(trial.error.message in problem for problem in told), said


@pytest.mark.parametrize("number", range(27))
def test_where_nothing_is_left_to_run_the_plan_is_refused(
    number: int, tmp_path: Path, fake: FakeProvider
) -> None:
    """With the same words, before there is a run."""
    said, test = list(broken_tests(tmp_path, fake).items())[number]
    with pytest.raises(ConfigError) as caught:
        planned(tmp_path, fake, tests=[test])
    assert said in str(caught.value)
    assert fake.requests == []


def test_a_broken_default_assertion_leaves_the_tests_that_do_without_it(
    tmp_path: Path, fake: FakeProvider
) -> None:
    """Also where tests choose another judge for it."""
    rubric = {"type": "llm-rubric", "value": "x"}
    plan = planned(
        tmp_path,
        fake,
        defaultTest={"assert": [rubric], "options": {"provider": model(fake, "")}},
        tests=[
            fine(),
            fine(options={"disableDefaultAsserts": True}),
            fine(options={"provider": model(fake)}),
        ],
    )
    assert [p.slug for p in plan.broken] == ["auth"]
    assert [trial.outcome for trial in ran(tmp_path, plan)] == ["error", "pass", "pass"]
    assert fake.ledger.total == 3


def test_only_the_column_that_lacks_its_key_is_in_error(tmp_path: Path, fake: FakeProvider) -> None:
    """The other is run and kept; outputs that already exist need no key."""
    plan = planned(
        tmp_path,
        fake,
        providers=[model(fake), model(fake, "", label="keyless")],
        tests=[fine(), fine(vars={"x": "b"}), fine(vars={"x": "c"}, providerOutput="rr")],
    )
    (problem,) = plan.broken
    assert problem.slug == "auth"
    assert "there is no API key for openai:chat:m" in problem.what
    assert problem.hint == "Set OPENAI_API_KEY in the environment."
    trials = ran(tmp_path, plan)
    outcomes = {(t.variant, t.vars["x"]): t.outcome for t in trials}
    assert outcomes == {
        (0, "fine"): "pass",
        (0, "b"): "pass",
        (0, "c"): "pass",
        (1, "fine"): "error",
        (1, "b"): "error",
        (1, "c"): "pass",
    }
    assert {t.error.slug for t in trials if t.error} == {"auth"}
    assert fake.ledger.total == 2


@pytest.mark.parametrize(
    "column",
    [
        {"prompts": ["r"], "providers": [{"id": "echo", "transform": "output.+"}, "echo"]},
        {"prompts": ["{% if %}", "r{{x}}"], "providers": ["echo"]},
        {"prompts": ['[{"role": "user", "content": "{% if %}"}]', "r{{x}}"], "providers": ["echo"]},
    ],
    ids=["transform", "prompt", "chat"],
)
def test_a_broken_column_leaves_the_others(
    column: dict[str, Any], tmp_path: Path, fake: FakeProvider
) -> None:
    """Its transform, or its prompt."""
    plan = planned(tmp_path, fake, **column, tests=[fine()] * 2)
    assert len(plan.broken) == 1
    assert [trial.outcome for trial in ran(tmp_path, plan)] == ["error", "pass"] * 2


def test_a_contest_that_fewer_than_two_columns_can_enter_is_not_paid_for(
    tmp_path: Path, fake: FakeProvider
) -> None:
    """With two others it is held between these; tests that compare nothing are run."""
    best = {"type": "select-best", "value": "x", "provider": model(fake)}
    tests = [{"vars": {"x": "1"}, "assert": [best]}, fine()]
    keyless = model(fake, "", label="keyless")
    plan = planned(tmp_path, fake, providers=[model(fake), keyless], tests=tests)
    assert any("of which fewer than two can be asked" in problem.what for problem in plan.broken)
    trials = ran(tmp_path, plan)
    assert [trial.outcome for trial in trials] == ["error", "error", "pass", "error"]
    assert fake.ledger.total == 1
    three = [model(fake, label="a"), keyless, model(fake, label="b")]
    plan = planned(tmp_path, fake, providers=three, tests=tests)
    assert not any("fewer than two" in problem.what for problem in plan.broken)
    refused = [planned.problem is not None for planned in plan.trials()]
    assert refused == [False, True, False] * 2


def test_a_turn_that_others_go_on_from_is_asked_all_the_same(
    tmp_path: Path, fake: FakeProvider
) -> None:
    """Without its answer they would be asked something else. The last one, which nobody needs, is not."""
    bad = {"type": "contain", "value": "x"}
    turn = {"metadata": {"conversationId": "c"}}
    tests = [
        {"vars": {"x": "one"}, "assert": [GOOD], **turn},
        {"vars": {"x": "two"}, "assert": [bad], **turn},
        {"vars": {"x": "three"}, "assert": [GOOD], **turn},
        {"vars": {"x": "four"}, "assert": [bad], **turn},
    ]
    prompt = "{% for c in _conversation %}{{c.input}} {{c.output}}\n{% endfor %}Say {{x}}"
    trials = ran(tmp_path, planned(tmp_path, fake, prompts=[prompt], tests=tests))
    assert [trial.outcome for trial in trials] == ["pass", "error", "pass", "error"]
    assert [trial.calls for trial in trials] == [1, 1, 1, 0]
    assert "Say one" in trials[2].prompt
    assert "Say two" in trials[2].prompt
    assert "'contain' is not known" in trials[1].reason


def test_so_is_one_whose_output_others_are_given(tmp_path: Path, fake: FakeProvider) -> None:
    """But not one that cannot be asked: what was stored before it is what they get."""
    bad = {"type": "contain", "value": "x"}
    tests = [
        {"vars": {"x": "one"}, "assert": [bad], "options": {"storeOutputAs": "said"}},
        {"vars": {"x": "two"}, "assert": [GOOD]},
    ]
    keyless = model(fake, "", label="keyless")
    plan = planned(
        tmp_path,
        fake,
        prompts=["Say {{x}} {{said}}"],
        tests=tests,
        providers=[model(fake), keyless],
    )
    trials = ran(tmp_path, plan)
    assert [(t.outcome, t.calls) for t in trials] == [
        ("error", 1),
        ("error", 0),
        ("pass", 1),
        ("error", 0),
    ]
    assert '"pass":true' in trials[2].prompt.replace(" ", "")


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({"threshold": 0.5}, "pass"),
        ({"threshold": 0.9}, "error"),
        ({}, "error"),
        ({"assertScoringFunction": "file://score.py"}, "error"),
    ],
    ids=str,
)
def test_what_a_threshold_can_do_without_is_no_reason_not_to_ask(
    more: dict[str, Any], outcome: str, tmp_path: Path, fake: FakeProvider
) -> None:
    """A test that can pass, whatever its broken assertion would have said, is run."""
    (tmp_path / "score.py").write_text("def get_score(scores, context): return 1\n")
    keyless = {"type": "llm-rubric", "value": "x", "provider": model(fake, "")}
    test = {"vars": {"x": "1"}, "assert": [GOOD, keyless], **more}
    (trial, _) = ran(tmp_path, planned(tmp_path, fake, tests=[test, fine()]))
    assert trial.outcome == outcome
    assert (trial.calls > 0) is (outcome == "pass")


@pytest.mark.parametrize(
    ("assertions", "runs"),
    [
        ([GOOD, {"type": "regex", "value": "((", "weight": 0}], True),
        ([GOOD, {"type": "regex", "value": "((", "weight": 1}], False),
        ([{"type": "assert-set", "threshold": 0.5, "assert": [GOOD, {"type": "regex"}]}], True),
        ([{"type": "assert-set", "assert": [GOOD, {"type": "regex"}]}], False),
        ([{"type": "assert-set", "assert": [{"type": "regex"}], "weight": 0}, GOOD], False),
        (
            [
                {"type": "guardrails", "config": {"purpose": "redteam"}},
                {"type": "regex", "value": "(("},
            ],
            True,
        ),
    ],
    ids=str,
)
def test_nor_is_what_takes_no_part_in_the_verdict(
    assertions: list[Any], runs: bool, tmp_path: Path, fake: FakeProvider
) -> None:
    """Weight 0, and a set that needs only some of its own. It is said all the same."""
    plan = planned(tmp_path, fake, tests=[{"vars": {"x": "1"}, "assert": assertions}, fine()])
    assert plan.broken
    (trial, _) = ran(tmp_path, plan)
    assert (trial.calls == 1) is runs


def test_a_file_of_a_later_python_says_which_python_this_is(tmp_path: Path, fake) -> None:
    """What it is written for is not known; what runs it is."""
    (tmp_path / "later.py").write_text("def get_assert(output, context):\n    return not not\n")
    test = fine(**{"assert": [{"type": "python", "value": "file://later.py"}]})
    plan = planned(tmp_path, fake, tests=[test, fine()])
    (problem,) = plan.broken
    version = ".".join(map(str, sys.version_info[:2]))
    assert f"This is Python {version}" in problem.hint


def test_a_judge_that_cannot_be_had_is_said_once_for_each_assertion(
    tmp_path: Path, fake: FakeProvider
) -> None:
    """Wherever it is named, and never with a second message that there is no model."""
    nobody = {"type": "llm-rubric", "value": "x", "provider": "nobody:x"}
    moderated = {"type": "moderation", "provider": "replicate:meta/llama"}
    tests = [{"vars": {"x": "1"}, "assert": [item]} for item in (nobody, nobody, moderated)]
    plan = planned(tmp_path, fake, tests=[fine(), *tests])
    told = [str(problem) for problem in plan.broken]
    assert sum("'nobody:x' is not known" in problem for problem in told) == 2, told
    assert sum("something else than moderation" in problem for problem in told) == 1, told
    assert not any("has no model" in problem for problem in told), told
    trials = ran(tmp_path, plan)
    assert [trial.outcome for trial in trials] == ["pass", "error", "error", "error"]
