"""Cases and queries of prompts that cannot come to a verdict: errors that nobody is asked for."""

from __future__ import annotations

import pytest

from evenhand.core.errors import ConfigError
from evenhand.doors.prompt_directories.doctor import look
from evenhand.doors.prompt_directories.plan import load
from evenhand.engine import door
from evenhand.engine.door import Settings
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider

EVAL = """\
defaults: {{model: openai:m}}
cases:
  - name: good
    inputs: {{who: Ada}}
    assert: [{{contains: e}}]
  - name: bad
    {bad}
"""
FINE = "inputs: {who: Ada}"
CASES = {
    f"{FINE}\n    assert: [{{contians: x}}]": "assertion 'contians' is not known",
    f'{FINE}\n    assert: [{{matches: "(("}}]': "is not a regular expression",
    f"{FINE}\n    assert: [{{json_schema: nowhere.json}}]": "'nowhere.json' does not exist",
    f"{FINE}\n    assert: [{{type: contain, value: x}}]": "'contain' is not known",
    f"{FINE}\n    assert: [{{type: python, value: file://no.py}}]": "no.py does not exist",
    "inputs_from: nowhere\n    assert: [{contains: e}]": "'nowhere/inputs.yml' does not exist",
    f"{FINE}\n    assert: [{{contains: e}}]\n    model: anthropic:m": "no API key for anthropic:m",
    f"{FINE}\n    rubric: good, 1-5?\n    judge: anthropic:m": "no API key for anthropic:m",
    f"{FINE}\n    assert: [{{type: llm-rubric, value: x, provider: 'anthropic:m'}}]": (
        "no API key for anthropic:m"
    ),
    f"{FINE}\n    assert: [{{contains: e}}]\n    timeout_s: -1": "timeout_s is -1",
}


@pytest.fixture
def fake(monkeypatch):
    """A vendor that answers everything, for those of OpenAI's models; Anthropic's lack their key."""
    with FakeProvider() as served:
        for name, value in served.env().items():
            if name.startswith("OPENAI"):
                monkeypatch.setenv(name, value)
        monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
        yield served


def planned(shelf, text):
    """The plan of a prompt with this eval.yml."""
    shelf.add("greet", eval=text)
    return load(shelf.library, ["greet"])


def ran(plan, home):
    """What its trials come to, by case."""
    finished = door.run(plan, Settings(home=home, cache=False))
    with RunFile.open(finished.path) as run:
        return {trial.case: trial for trial in run.trials()}


@pytest.mark.parametrize(("bad", "says"), CASES.items(), ids=CASES.values())
def test_a_case_that_cannot_come_to_a_verdict_is_not_paid_for(shelf, fake, tmp_path, bad, says):
    """It is said with its place, and the others are run."""
    plan = planned(shelf, EVAL.format(bad=bad))
    (problem,) = plan.broken
    assert says in problem.what
    assert problem.file.endswith("eval.yml")
    assert problem.line >= 6
    trials = ran(plan, tmp_path / "home")
    assert (trials["good"].outcome, trials["bad"].outcome) == ("pass", "error")
    assert trials["bad"].calls == 0
    assert says in trials["bad"].reason
    assert fake.ledger.total == 1


def test_two_cases_with_the_same_missing_inputs_are_both_in_error(shelf, fake, tmp_path):
    """What is wrong with a file concerns all that name it."""
    case = "inputs_from: nowhere\n    assert: [{contains: e}]"
    more = f"{case}\n  - name: worse\n    {case}"
    trials = ran(planned(shelf, EVAL.format(bad=more)), tmp_path / "home")
    assert [trial.outcome for trial in trials.values()] == ["pass", "error", "error"]
    assert fake.ledger.total == 1


def test_queries_whose_judge_lacks_its_key_are_in_error(shelf, fake, tmp_path):
    """The prompt's cases are run."""
    queries = "triggering: {judge: {model: anthropic:m}, should_match: [say hello, say hi]}\n"
    bad = f"{FINE}\n    assert: [{{contains: e}}]"
    plan = planned(shelf, queries + EVAL.format(bad=bad))
    (problem,) = plan.broken
    assert problem.slug == "auth"
    trials = ran(plan, tmp_path / "home")
    assert [trial.outcome for trial in trials.values()] == ["pass", "pass", "error", "error"]
    assert fake.ledger.total == 2


def test_where_no_case_is_left_the_plan_is_refused(shelf, fake, monkeypatch):
    """Nothing is sent."""
    for name in fake.env():
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="no API key for openai:m"):
        planned(shelf, EVAL.format(bad=f"{FINE}\n    assert: [{{contians: x}}]"))
    assert fake.requests == []


def test_the_doctor_tells_of_broken_cases_and_not_of_keys(shelf):
    """A key that is not set here says nothing of the prompt."""
    rubric = "[{type: llm-rubric, value: x, provider: 'anthropic:m'}]"
    shelf.add("greet", eval=EVAL.format(bad=f"{FINE}\n    assert: {rubric}"))
    (looked,) = look(shelf.library)
    assert not any("API key" in str(problem) for problem in looked.problems)
    shelf.add("greet", eval=EVAL.format(bad=f"{FINE}\n    assert: [{{contians: x}}]"))
    (looked,) = look(shelf.library)
    assert any("contians" in str(problem) for problem in looked.problems)


RUBRIC = "cases:\n  - {name: a, inputs: {who: Ada}, rubric: 'good, 1-5?'}\n"


@pytest.mark.parametrize(
    ("top", "place", "says"),
    [
        ("defaults:\n  model: openai:m\n  judge: gtp5\n", (3, 3), "provider 'gtp5' is not known"),
        (
            "defaults:\n  model: openai:m\n  judge: {model: {first: 'openai:decisions:m', risk: 10%}}\n",
            (3, 3),
            "there is no 'then'",
        ),
        ("defaults: {model: openai:m}\n", (1, 1), "greet: no judge is named"),
    ],
)
def test_a_default_judge_that_cannot_judge_is_wrong_in_the_file_that_names_it(
    shelf, fake, monkeypatch, top, place, says
):
    """Or that ought to name it: not in meta.yml, which has no judge."""
    monkeypatch.delenv("EVENHAND_JUDGE", raising=False)
    shelf.add("greet", eval=top + RUBRIC)
    with pytest.raises(ConfigError) as error:
        load(shelf.library, ["greet"])
    (problem,) = error.value.problems
    assert says in problem.what
    assert problem.file.endswith("eval.yml")
    assert (problem.line, problem.column) == place


def test_a_key_of_defaults_beside_them_is_said_to_be_theirs(shelf, fake):
    """It is not used, and a hint says where it is."""
    shelf.add(
        "greet", eval=f"judge: openai:m\ndefaults: {{model: openai:m, judge: openai:m}}\n{RUBRIC}"
    )
    hints = {hint.what: hint.hint for hint in load(shelf.library, ["greet"]).hints}
    assert hints["unknown key 'judge' is not used"] == "It is a key of `defaults`."
