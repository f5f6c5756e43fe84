"""`evenhand:user`: a conversation in YAML, with a script or with a model that has a goal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from evenhand.cli import main
from evenhand.core.errors import ConfigError
from evenhand.core.run import TrialResult
from evenhand.doors.promptfoo.load import load
from evenhand.doors.schemas import promptfoo
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

GOAL: dict[str, Any] = {
    "goal": "You want a refund for {{goods}}.",
    "facts": {"order number": "{{order}}", "age": 40},
    "never_says": ["call my {{who}}"],
    "model": "openai:chat:user-x",
    "max_turns": 3,
}
PLAIN: dict[str, Any] = {"vars": {"n": 1}}
VARS = {"goods": "a lamp", "order": "1042", "who": "lawyer", "shop": "Acme"}
RULES = [
    Rule(model="user-x", system="a rude lamp", reply="Or I call my lawyer!"),
    Rule(model="user-x", last="conversation begins", reply="Hi, a refund please, order 1042."),
    Rule(model="user-x", last="All done", reply="Thank you! ###STOP###"),
    Rule(model="agent-x", match="order 1042", reply="All done."),
    Rule(model="agent-x", match="And now", reply="Wait a day."),
    Rule(model="agent-x", reply="Hello!"),
]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """An agent, and a model that plays the user."""
    with FakeProvider(Script(RULES)) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


def config_of(config: object, *tests: dict[str, Any]) -> dict[str, Any]:
    """A promptfoo config whose tests have a user with this config."""
    return {
        "prompts": ["You are the agent of {{shop}}."],
        "providers": ["openai:chat:agent-x"],
        "defaultTest": {"provider": {"id": "evenhand:user", "config": config}, "vars": VARS},
        "tests": [*(tests or (PLAIN,))],
    }


def tried(
    folder: Path, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> list[TrialResult]:
    """Runs a config; its trials."""
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config))
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit):
        main(["run", "."])
    with RunFile.open(next((folder / ".evenhand" / "runs").glob("*.db"))) as file:
        return list(file.trials())


def sent(folder: Path, trial: int = 0) -> list[dict[str, Any]]:
    """The requests of a trial."""
    with RunFile.open(next((folder / ".evenhand" / "runs").glob("*.db"))) as file:
        return [json.loads(call.start.identity)["body"] for call in file.calls(trial)]


def test_a_script_is_filled_in_and_said_line_by_line(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """With the prompt as the system prompt, and the agent's model asked only."""
    (trial,) = tried(tmp_path, config_of({"turns": ["I have {{goods}}.", "And now?"]}), monkeypatch)
    assert trial.output == (
        "User: I have a lamp.\n---\nAssistant: Hello!\n---\nUser: And now?\n---\nAssistant: Wait a day."
    )
    bodies = sent(tmp_path)
    assert {body["model"] for body in bodies} == {"agent-x"}
    assert bodies[0]["messages"][0] == {"role": "system", "content": "You are the agent of Acme."}
    assert [m["role"] for m in bodies[1]["messages"]] == ["system", "user", "assistant", "user"]


def test_a_script_longer_than_the_usual_limit_is_said_to_its_end_unless_max_turns_is_less(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """`max_turns` is as many as there are lines by default."""
    lines = [f"Line {n}" for n in range(12)]
    short = {
        **PLAIN,
        "provider": {"id": "evenhand:user", "config": {"turns": lines, "max_turns": 2}},
    }
    whole, cut = tried(tmp_path, config_of({"turns": lines}, PLAIN, short), monkeypatch)
    assert (whole.output.count("User: "), cut.output.count("User: ")) == (12, 2)


def test_a_model_has_goal_facts_and_what_it_never_says_filled_in_from_the_test(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """They are what the model that plays the user is asked with."""
    (trial,) = tried(tmp_path, config_of(GOAL), monkeypatch)
    assert trial.output == "User: Hi, a refund please, order 1042.\n---\nAssistant: All done."
    asked = next(body for body in sent(tmp_path) if body["model"] == "user-x")
    system = asked["messages"][0]["content"]
    for text in ("You want a refund for a lamp.", "order number: 1042", "age: 40", "my lawyer"):
        assert text in system


def test_what_must_not_be_said_twice_is_an_error_of_the_simulator(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """It is asked for once more, and the agent is never asked."""
    test = {"vars": {"goods": "a rude lamp"}, "assert": [{"type": "contains", "value": "done"}]}
    (trial,) = tried(tmp_path, config_of(GOAL, test), monkeypatch)
    assert (trial.outcome, trial.error.slug) == ("error", "simulator")
    assert [body["model"] for body in sent(tmp_path)] == ["user-x", "user-x"]


def test_a_conversation_goes_on_from_its_start(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """A greeting of the agent's, say."""
    start = [{"role": "assistant", "content": "Welcome to {{shop}}!"}]
    config = config_of({"turns": ["And now?"], "start": start})
    (trial,) = tried(tmp_path, config, monkeypatch)
    assert trial.output.startswith("Assistant: Welcome to Acme!\n---\nUser: And now?")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"turns": ["Hi", "{{missing}}"]}, "turn 2 of evenhand:user comes to nothing"),
        ({**GOAL, "facts": {"order": "{{missing}}"}}, "the fact 'order' of evenhand:user comes to"),
        ({**GOAL, "language": "{{goods}}"}, "language is 'a lamp'"),
    ],
)
def test_a_text_that_comes_to_nothing_is_an_error_and_nothing_is_sent(
    tmp_path: Path,
    fake: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    config: dict[str, Any],
    said: str,
):
    """Never a user who says nothing, or knows nothing."""
    (trial,) = tried(tmp_path, config_of(config), monkeypatch)
    assert trial.outcome == "error"
    assert said in str(trial.error)
    assert sent(tmp_path) == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "has neither turns nor a goal"),
        ([], "config of evenhand:user is []"),
        ({"turns": []}, "turns of evenhand:user is an empty list"),
        ({"turns": "Hi"}, "turns of evenhand:user is 'Hi', not a list of texts"),
        ({"turns": ["Hi", 1042]}, "item 2 is 1042, not a text"),
        ({"turns": ["Hi"], "facts": {}}, "has turns, a script, and facts"),
        ({"turns": ["Hi"], "stateful": "yes"}, "stateful of evenhand:user is 'yes'"),
        ({"turns": ["Hi"], "max_turns": 0}, "max_turns is 0"),
        ({"turns": ["Hi"], "start": 5}, "start is 5"),
        ({**GOAL, "goal": ""}, "goal of evenhand:user is empty"),
        ({**GOAL, "goal": 5}, "goal of evenhand:user is 5, not a text"),
        ({**GOAL, "never_say": ["x"]}, "Did you mean 'never_says'?"),
        ({**GOAL, "facts": ["x"]}, "facts of evenhand:user is ['x'], not an object"),
        ({**GOAL, "facts": {"a": None}}, "'a' is None, not a text or a number"),
        ({**GOAL, "language": "german"}, "language of evenhand:user is 'german'"),
        ({**GOAL, "model": "openia:x"}, "provider 'openia:x' is not known"),
    ],
)
def test_what_a_config_cannot_mean_is_told_when_it_is_read(
    tmp_path: Path, config: object, said: str, monkeypatch: pytest.MonkeyPatch
):
    """For each test that has it: none is run with something else in its place."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config_of(config, PLAIN, PLAIN)))
    with pytest.raises(ConfigError) as raised:
        load(tmp_path / "promptfooconfig.yaml")
    assert said in str(raised.value)


def test_a_user_that_cannot_be_used_is_an_error_of_each_of_its_tests(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """Not only of the first one that is read."""
    other = {
        "assert": [{"type": "contains", "value": "Hello"}],
        "provider": {"id": "evenhand:user", "config": {"turns": ["Hi"]}},
    }
    trials = tried(tmp_path, config_of({"turns": ["Hi", 5]}, PLAIN, PLAIN, other), monkeypatch)
    assert [trial.outcome for trial in trials] == ["error", "error", "pass"]


def test_a_plan_counts_the_turns_of_a_script_and_nobody_plays_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """No judge is needed for it."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    path = tmp_path / "promptfooconfig.yaml"
    path.write_text(json.dumps(config_of({"turns": ["Hi", "Bye"]})))
    assert {one.role: one.calls for one in load(path).estimate()} == {"subject": 2}
    path.write_text(json.dumps(config_of(GOAL)))
    calls = {one.role: one.calls for one in load(path).estimate()}
    assert calls == {"subject": 3, "simulator": 3}


def test_among_the_providers_of_a_config_its_place_is_told(tmp_path: Path):
    """It is nobody to evaluate."""
    config = {"prompts": ["Hi"], "providers": ["evenhand:user"], "tests": [PLAIN]}
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match="belongs under `provider` of a test"):
        load(tmp_path / "promptfooconfig.yaml")


@pytest.mark.parametrize(
    ("config", "fits"),
    [
        (GOAL, True),
        ({"turns": ["Hi"], "max_turns": 2}, True),
        ({**GOAL, "never_say": ["x"]}, False),
        ({"turns": "Hi"}, False),
    ],
)
def test_the_schema_marks_what_is_misspelt(config: dict[str, Any], fits: bool):
    """As editors show it."""
    validator = jsonschema_rs.validator_for(json.loads(json.dumps(promptfoo.schema())))
    assert validator.is_valid(config_of(config)) is fits
