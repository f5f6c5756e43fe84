"""`promptfoo:simulated-user`: the provider of a test that has somebody talk with the model under evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from evenhand.core.errors import ConfigError, Problem
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Provider
from evenhand.core.ranges import Range
from evenhand.documents.findings import At, Findings, Place, problem_at
from evenhand.documents.numbers import number
from evenhand.documents.tree import read_document
from evenhand.promptfoo.config import Config
from evenhand.promptfoo.models import FolderModels
from evenhand.providers.catalog import key_missing
from evenhand.providers.missing_keys import NO_KEY, set_key

SIMULATED_USER = "promptfoo:simulated-user"
MAX_TURNS = 10
INSTRUCTIONS = "{{instructions}}"
_TURNS = Range(1, 10_000, whole=True)
_KEYS = ("instructions", "maxTurns", "initialMessages", "stateful", "userProvider")
_ROLES = ("user", "assistant", "system")
_NAME_ONE = "Name the model under config: userProvider: openai:chat:gpt-5-mini, say."


@dataclass(frozen=True, slots=True)
class TestUser:
    """Who talks with the model in a test.

    Attributes:
        instructions: What the user is to do; tags in it are filled in.
        max_turns: How often the model answers at most, initial messages not counted.
        initial: What was said before: messages, or the text of a list of them.
        stateful: Once the model has given a session's id, it is sent what the user said last and nothing else.
        model: Who plays the user; None where nobody is named, which `problem` says.
        place: Where it is written.
        problem: Why there can be no conversation; None where there may.
    """

    __test__ = False  # for pytest

    instructions: str
    max_turns: int
    initial: Any
    stateful: bool
    model: Provider | None
    place: Place = field(compare=False)
    problem: Problem | None = None


def is_simulated_user(spec: object) -> bool:
    """Whether a test's `provider` is a simulated user."""
    if isinstance(spec, Mapping):
        spec = cast("Mapping[str, object]", spec).get("id")
    return spec == SIMULATED_USER


class TestUsers:
    """Reads the simulated users of one config, each once."""

    __test__ = False  # for pytest

    def __init__(self, config: Config, models: FolderModels, findings: Findings) -> None:
        self._config = config
        self._models = models
        self._findings = findings
        self._read: dict[str, TestUser] = {}

    def read(self, spec: object, at: At) -> TestUser | None:
        """The simulated user that a test's `provider` names; None where it is something else."""
        if not is_simulated_user(spec):
            return None
        name = json.dumps(spec, sort_keys=True, default=str)
        if name not in self._read:
            self._read[name] = self._user(spec, at("provider"))
        return self._read[name]

    def _user(self, spec: object, place: Place) -> TestUser:
        written = cast("Mapping[str, Any]", spec).get("config") if isinstance(spec, Mapping) else {}
        config: Mapping[str, Any] = {}
        if isinstance(written, Mapping):
            config = cast("Mapping[str, Any]", written)
        elif written is not None:
            what = f"config of {SIMULATED_USER} is {written!r:.60}, not an object"
            self._findings.problem(place, what)
        for key in config:
            if key not in _KEYS:
                what = f"unknown key '{key}' of {SIMULATED_USER} is not used"
                self._findings.hint(place, what, did_you_mean(key, _KEYS))
        instructions = config.get("instructions") or INSTRUCTIONS
        if not isinstance(instructions, str):
            what = f"instructions of {SIMULATED_USER} are {instructions!r:.60}, not a text"
            self._findings.problem(place, what)
            instructions = INSTRUCTIONS
        turns = number(config.get("maxTurns"), place, "maxTurns", self._findings, _TURNS)
        model, problem = self._model(config.get("userProvider"), place)
        return TestUser(
            instructions,
            MAX_TURNS if turns is None else int(turns),
            self._initial(config.get("initialMessages"), place),
            bool(config.get("stateful")),
            model,
            place,
            problem,
        )

    def _model(self, named: object, place: Place) -> tuple[Provider | None, Problem | None]:
        """Who plays the user: the model that is named, or the one that judges by default."""
        with self._findings.apart() as problems:
            models = self._models
            model = models.default_judge(place) if named is None else models.judge(named, place)
        if model is None:
            what = f"no model plays the user of {SIMULATED_USER}: promptfoo's own is not asked"
            hint = f"{_NAME_ONE} Or name a judge: it is asked then."
            return None, next(iter(problems), None) or self._findings.broken(place, what, hint)
        key = key_missing(model)
        if key:
            what = NO_KEY.format(model.id)
            return model, self._findings.broken(place, what, set_key(key), slug="auth")
        return model, None

    def _initial(self, value: object, place: Place) -> object:
        """The messages of `initialMessages`, of the file where it names one."""
        if isinstance(value, str) and value.startswith("file://"):
            path = self._config.base / value.removeprefix("file://")
            self._models.files.add(path)
            document = read_document(path, self._findings, place)
            value = None if document is None else document.value
        if value is not None and not isinstance(value, (list, str)):
            what = f"initialMessages is {value!r:.60}, neither a list of messages nor a file"
            self._findings.problem(place, what)
            return None
        return value


def no_tools_in_talks(place: Place, model: str) -> Problem:
    """That a simulated user cannot talk with a model that has the tools of MCP servers: nobody calls them."""
    what = f"{SIMULATED_USER} cannot talk with {model}, which has the tools of MCP servers"
    return problem_at(
        place, what, "Nothing calls the tools. In Python, MCPWorld does, in a Conversation."
    )


def initial_messages(value: object, place: Place) -> list[Mapping[str, Any]]:
    """The messages that a conversation begins with, tags not yet filled in; empty for none.

    Args:
        value: A list, or the text of one, as a variable that names a file has it.
        place: Where they are written.

    Raises:
        ConfigError: They are no messages.
    """
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError:
            value = [value]
    if not value:
        return []
    wrong: list[Problem] = []
    messages: list[Mapping[str, Any]] = []
    items = cast("Sequence[object]", value) if isinstance(value, list) else [value]
    for counted, item in enumerate(items, 1):
        fields = cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else {}
        if isinstance(fields.get("role"), str) and isinstance(fields.get("content"), str):
            messages.append(fields)
            continue
        what = f"initialMessages: message {counted} is {item!r:.80}"
        hint = f"Write {{role: user, content: …}}; a role is one of {', '.join(_ROLES)}."
        wrong.append(problem_at(place, what, hint))
    if wrong:
        raise ConfigError(wrong)
    return messages
