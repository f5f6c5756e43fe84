"""`promptfoo:simulated-user`: a conversation with the model under evaluation, as promptfoo leads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli import main
from evenhand.core.errors import ConfigError
from evenhand.core.run import TrialResult
from evenhand.doors.promptfoo.load import load
from evenhand.doors.promptfoo.simulated_users import initial_messages
from evenhand.languages.documents.findings import Place
from evenhand.store.runfile import RunFile
from evenhand.testing import FakeProvider, Rule, Script

CONFIG: dict[str, Any] = {
    "prompts": ["You are the agent of {{shop}}."],
    "providers": ["openai:chat:agent-x"],
    "defaultTest": {
        "provider": {
            "id": "promptfoo:simulated-user",
            "config": {"maxTurns": 3, "userProvider": "openai:chat:user-x"},
        },
        "vars": {"shop": "Acme"},
    },
    "tests": [
        {
            "vars": {"instructions": "You want a refund for order {{order}}.", "order": "1042"},
            "assert": [{"type": "contains", "value": "User: "}],
        }
    ],
}
PLACE = Place(Path("promptfooconfig.yaml"), 3)
USER = [
    Rule(model="user-x", system="never learn", reply="How can I help you today?"),
    Rule(model="user-x", last="conversation begins", reply="Hi, a refund for 1042, please."),
    Rule(model="user-x", last="done", reply="Thank you! ###STOP###"),
    Rule(model="user-x", reply="Just the refund, please, as I said."),
]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A user, and an agent that is done at the second turn."""
    rules = [*USER, Rule(model="agent-x", match="as I said", reply="All done."), Rule(reply="Why?")]
    with FakeProvider(Script(rules)) as server:
        for name, value in server.env().items():
            monkeypatch.setenv(name, value)
        yield server


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


def with_config(**changes: Any) -> dict[str, Any]:
    """The config with these changes to that of the simulated user."""
    config = json.loads(json.dumps(CONFIG))
    config["defaultTest"]["provider"]["config"].update(changes)
    return config


def sent(folder: Path, model: str) -> list[list[dict[str, str]]]:
    """The messages of the requests to a model."""
    with RunFile.open(next((folder / ".evenhand" / "runs").glob("*.db"))) as file:
        bodies = [json.loads(call.start.identity)["body"] for call in file.calls(0)]
    return [body["messages"] for body in bodies if body["model"] == model]


def test_the_user_talks_with_the_model_and_the_output_is_what_promptfoo_writes(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """The user talks with the model and the output is what promptfoo writes."""
    (trial,) = tried(tmp_path, CONFIG, monkeypatch)
    assert trial.outcome == "pass"
    assert trial.output == (
        "User: Hi, a refund for 1042, please.\n---\nAssistant: Why?\n---\n"
        "User: Just the refund, please, as I said.\n---\nAssistant: All done."
    )
    first, second = sent(tmp_path, "agent-x")
    assert first[0] == {"role": "system", "content": "You are the agent of Acme."}
    assert [m["role"] for m in second] == ["system", "user", "assistant", "user"]
    system = sent(tmp_path, "user-x")[0][0]["content"]
    assert "You want a refund for order 1042." in system
    assert [m["role"] for m in sent(tmp_path, "user-x")[1]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]


def test_a_conversation_goes_on_from_initial_messages_and_ends_with_max_turns(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """A conversation goes on from initial messages and ends with max turns."""
    said = [
        {"role": "user", "content": "Order {{order}} is late"},
        {"role": "assistant", "content": "Sorry!"},
        {"role": "user", "content": "What now?"},
    ]
    (tmp_path / "before.json").write_text(json.dumps(said))
    config = with_config(maxTurns=1, initialMessages="file://before.json")
    (trial,) = tried(tmp_path, config, monkeypatch)
    assert [line.partition(":")[0] for line in trial.output.split("\n---\n")] == [
        "User",
        "Assistant",
        "User",
        "Assistant",
        "User",
        "Assistant",
    ]
    assert trial.output.startswith("User: Order 1042 is late\n---\nAssistant: Sorry!")


def test_a_stateful_model_is_sent_the_latest_message_alone(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """A stateful model is sent the latest message alone, once it has a session."""
    (tmp_path / "agent.py").write_text(
        "import json\n"
        "def call_api(prompt, options, context):\n"
        "    said = json.loads(prompt)\n"
        "    done = 'All done.' if 'as I said' in said[-1]['content'] else 'Why?'\n"
        "    text = f\"{len(said)} {context['vars']['order']} {done}\"\n"
        "    return {'output': text, 'metadata': {'sessionId': 's1'}}\n"
    )
    config = {**with_config(stateful=True), "providers": ["file://agent.py"]}
    (trial,) = tried(tmp_path, config, monkeypatch)
    assert "Assistant: 2 1042 Why?" in trial.output
    assert "Assistant: 1 1042 All done." in trial.output


def test_mistakes_of_the_simulated_user_are_errors_and_not_failures(
    tmp_path: Path, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch
):
    """Mistakes of the simulated user are errors and not failures."""
    config = with_config(instructions="You never learn what you play.")
    (trial,) = tried(tmp_path, config, monkeypatch)
    assert (trial.outcome, trial.error.slug) == ("error", "simulator")


def test_where_nobody_plays_the_user_its_line_and_the_remedy_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Where nobody plays the user its line and the remedy are told."""
    config = {**with_config(userProvider=None), "providers": ["echo"]}
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(config, indent=1))
    with pytest.raises(ConfigError) as raised:
        load(tmp_path / "promptfooconfig.yaml")
    assert "no model plays the user" in str(raised.value)
    assert "userProvider: openai:chat:gpt-5-mini" in str(raised.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"maxTurns": 0}, "maxTurns is 0"),
        ({"instructions": 5}, "instructions of promptfoo:simulated-user are 5"),
        ({"initialMessages": 5}, "initialMessages is 5"),
        ({"userProvider": "openia:x"}, "provider 'openia:x' is not known"),
    ],
)
def test_what_its_config_cannot_mean_is_told(
    tmp_path: Path, changes: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
):
    """What its config cannot mean is told."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(with_config(**changes)))
    with pytest.raises(ConfigError) as raised:
        load(tmp_path / "promptfooconfig.yaml")
    assert said in str(raised.value)


def test_messages_that_are_none_are_told_all_at_once():
    """Messages that are none are told all at once."""
    with pytest.raises(ConfigError) as raised:
        initial_messages(["Hi", {"role": "user", "content": "Hi"}, {"role": 1}], PLACE)
    assert "message 1 is 'Hi'" in str(raised.value)
    assert "message 3 is {'role': 1}" in str(raised.value)
    assert initial_messages('[{"role": "user", "content": "Hi"}]', PLACE) == [
        {"role": "user", "content": "Hi"}
    ]
    assert initial_messages(None, PLACE) == []


def test_a_plan_counts_the_turns_that_there_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A plan counts the turns that there may be."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    (tmp_path / "promptfooconfig.yaml").write_text(json.dumps(CONFIG))
    calls = {one.role: one.calls for one in load(tmp_path / "promptfooconfig.yaml").estimate()}
    assert calls == {"subject": 3, "simulator": 3}
