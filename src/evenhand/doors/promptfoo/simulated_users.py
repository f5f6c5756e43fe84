"""`promptfoo:simulated-user` and `evenhand:user`: providers of a test that talk with the model under evaluation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from msgspec import field
from msgspec.structs import replace

from evenhand.core.errors import ConfigError, Problem
from evenhand.core.json_schema import ANY, NUMBER, TABLE, TEXT, TEXTS, Part
from evenhand.core.json_shapes import as_array, as_mapping, is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.provider import Provider
from evenhand.core.ranges import Range
from evenhand.core.record import Record
from evenhand.core.table import Form, Path_, TableKey, TableReader, own
from evenhand.doors.promptfoo.config import Config
from evenhand.doors.promptfoo.models import FolderModels
from evenhand.languages.documents.findings import At, Findings, Place, problem_at
from evenhand.languages.documents.tree import read_document
from evenhand.languages.templates.rendering import has_tags
from evenhand.providers.catalog import key_missing
from evenhand.providers.missing_keys import NO_KEY, set_key

SIMULATED_USER = "promptfoo:simulated-user"
MAX_TURNS = 10
INSTRUCTIONS = "{{instructions}}"
_TURNS = Range(1, 10_000, whole=True)
_KEYS = ("instructions", "maxTurns", "initialMessages", "stateful", "userProvider")
_ROLES = ("user", "assistant", "system")
_NAME_ONE = "Name the model under config: {}: openai:chat:gpt-5-mini, say. Or name a judge: it is asked then."


class TestUser(Record, frozen=True, kw_only=True):
    """Who talks with the model in a test.

    Attributes:
        instructions: What the user of promptfoo's is to do; tags in it are filled in. Empty for one of our own.
        max_turns: How often the model answers at most, initial messages not counted.
        initial: What was said before: messages, or the text of a list of them.
        stateful: Once the model has given a session's id, it is sent what the user said last and nothing else.
        model: Who plays the user; None for a script, and where nobody is named, which `problem` says.
        problem: Why there can be no conversation; None where there may.
        own: What a user of our own says or wants; None for promptfoo's.
    """

    __test__ = False  # for pytest

    instructions: str
    max_turns: int
    initial: Any
    stateful: bool
    model: Provider | None
    place: Place
    problem: Problem | None = None
    own: OwnUser | None = None

    @property
    def id(self) -> str:
        """The id under which it is written."""
        return SIMULATED_USER if self.own is None else OWN_USER


def is_simulated_user(spec: object) -> bool:
    """Whether a test's `provider` is a user who talks with the model: promptfoo's, or one of our own."""
    return _id_of(spec) in (SIMULATED_USER, OWN_USER)


def _id_of(spec: object) -> object:
    return spec.get("id") if is_mapping(spec) else spec


class TestUsers(Record, frozen=True):
    """Reads the simulated users of one config, each once."""

    __test__ = False  # for pytest

    _config: Config
    _models: FolderModels
    _findings: Findings
    _read: dict[str, TestUser] = field(default_factory=dict[str, TestUser])

    def read(self, spec: object, at: At) -> TestUser | None:
        """The simulated user that a test's `provider` names; None where it is something else."""
        if not is_simulated_user(spec):
            return None
        name = json.dumps(spec, sort_keys=True, default=str)
        if name not in self._read:
            with self._findings.apart() as problems:
                user = self._user(spec, at("provider"))
            # kept with the user: each of its tests is an error, and not only the one that is read first
            problem = next(iter(problems), user.problem)
            self._read[name] = replace(user, problem=problem)
        return self._read[name]

    def _user(self, spec: object, place: Place) -> TestUser:
        who = str(_id_of(spec))
        written = spec.get("config") if is_mapping(spec) else {}
        config: Mapping[str, Any] = {}
        if is_mapping(written):
            config = written
        elif written is not None:
            what = f"config of {who} is {written!r:.60}, not an object"
            self._findings.problem(place, what)
        return self._own(config, place) if who == OWN_USER else self._simulated(config, place)

    def _own(self, config: Mapping[str, Any], place: Place) -> TestUser:
        """A user of our own."""
        own = read_own_user(config, place, self._findings)
        turns = self._findings.number(own.max_turns, place, "max_turns", _TURNS)
        model, problem = None, None
        if own.goal:
            model, problem = self._model(own.model, place, OWN_USER)
        return TestUser(
            instructions="",
            max_turns=int(turns or len(own.turns) or MAX_TURNS),
            initial=self._initial(own.start, place, "start"),
            stateful=own.stateful,
            model=model,
            place=place,
            problem=problem,
            own=own,
        )

    def _simulated(self, config: Mapping[str, Any], place: Place) -> TestUser:
        """The simulated user of promptfoo."""
        self._findings.unknown(config, _KEYS, place, f" of {SIMULATED_USER} is not used")
        instructions = config.get("instructions") or INSTRUCTIONS
        if not isinstance(instructions, str):
            what = f"instructions of {SIMULATED_USER} are {instructions!r:.60}, not a text"
            self._findings.problem(place, what)
            instructions = INSTRUCTIONS
        turns = self._findings.number(config.get("maxTurns"), place, "maxTurns", _TURNS)
        model, problem = self._model(config.get("userProvider"), place, SIMULATED_USER)
        return TestUser(
            instructions=instructions,
            max_turns=MAX_TURNS if turns is None else int(turns),
            initial=self._initial(config.get("initialMessages"), place, "initialMessages"),
            stateful=bool(config.get("stateful")),
            model=model,
            place=place,
            problem=problem,
        )

    def _model(
        self, named: object, place: Place, who: str
    ) -> tuple[Provider | None, Problem | None]:
        """Who plays the user: the model that is named, or the one that judges by default."""
        with self._findings.apart() as problems:
            models = self._models
            model = models.default_judge(place) if named is None else models.judge(named, place)
        if model is None:
            key, what = "model", f"no model plays the user of {who}"
            if who == SIMULATED_USER:
                key, what = "userProvider", f"{what}: promptfoo's own is not asked"
            hint = _NAME_ONE.format(key)
            return None, next(iter(problems), None) or self._findings.broken(place, what, hint)
        key = key_missing(model)
        if key:
            what = NO_KEY.format(model.id)
            return model, self._findings.broken(place, what, set_key(key), slug="auth")
        return model, None

    def _initial(self, value: object, place: Place, key: str) -> object:
        """The messages that a conversation begins with, of the file where a key names one."""
        if isinstance(value, str) and value.startswith("file://"):
            path = self._config.base / value.removeprefix("file://")
            self._models.files.add(path)
            document = read_document(path, self._findings, place)
            value = None if document is None else document.value
        if value is not None and not isinstance(value, (list, str)):
            what = f"{key} is {value!r:.60}, neither a list of messages nor a file"
            self._findings.problem(place, what)
            return None
        return value


def no_tools_in_talks(user: TestUser, model: str) -> Problem:
    """That no user can talk with a model that has the tools of MCP servers which nobody calls."""
    what = f"{user.id} cannot talk with {model}, which has the tools of MCP servers"
    return problem_at(user.place, what, "Nothing calls the tools. Add call: true to its mcp.")


def initial_messages(
    value: object, place: Place, key: str = "initialMessages"
) -> list[Mapping[str, Any]]:
    """The messages that a conversation begins with, tags not yet filled in; empty for none.

    Args:
        value: A list, or the text of one, as a variable that names a file has it.
        place: Where they are written.
        key: The key that they are written under, for messages of errors.

    Raises:
        ConfigError: They are no messages.
    """
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except ValueError:
            # Text that is not JSON is reported below, as something that is not a message.
            value = [value]
    if not value:
        return []
    wrong: list[Problem] = []
    messages: list[Mapping[str, Any]] = []
    items = value if is_array(value) else [value]
    for counted, item in enumerate(items, 1):
        fields = as_mapping(item)
        if isinstance(fields.get("role"), str) and isinstance(fields.get("content"), str):
            messages.append(fields)
            continue
        what = f"{key}: message {counted} is {item!r:.80}"
        hint = f"Write {{role: user, content: …}}; a role is one of {', '.join(_ROLES)}."
        wrong.append(problem_at(place, what, hint))
    if wrong:
        raise ConfigError(wrong)
    return messages


OWN_USER = "evenhand:user"
_OF_A_MODEL = ("goal", "facts", "never_says", "persona", "language", "model")
_EITHER = "Write turns: [Hi!, …] for a script, or goal: You want … for a user that a model plays."


def _form(schema: Part, accepts: Callable[[object], bool], otherwise: str, hint: str = "") -> Form:
    def problem(name: str, value: object) -> str:
        return "" if accepts(value) else f"{name} of {OWN_USER} is {value!r:.60}, not {otherwise}"

    return Form(schema=schema, problem=problem, hint=hint)


_TEXT = _form(TEXT, lambda value: isinstance(value, str), "a text")
_LIST = replace(
    _form(TEXTS, is_array, "a list of texts"),
    value=lambda items: tuple(item for item in items if isinstance(item, str)),
    never_empty=True,
)
_FACTS = _form(TABLE, is_mapping, "an object", "Write facts: {order number: '1042'}.")
_SWITCH = replace(
    _form({"type": "boolean"}, lambda value: isinstance(value, bool), "true or false"),
    never_empty=True,
)


class OwnUser(Record, frozen=True, kw_only=True):
    """The config of a user of our own; tags in its texts are filled in later."""

    turns: Annotated[
        tuple[str, ...], TableKey("A script: what the user says, turn by turn.", _LIST)
    ] = ()
    goal: Annotated[str, TableKey("What the user wants, for one that a model plays.", _TEXT)] = ""
    facts: Annotated[Mapping[str, Any], TableKey("What the user knows, by name.", _FACTS)] = {}
    never_says: Annotated[tuple[str, ...], TableKey("What the user must not say.", _LIST)] = ()
    persona: Annotated[str, TableKey("How the user is and speaks.", _TEXT)] = ""
    language: Annotated[str, TableKey("The language the user speaks, as a code: de.", _TEXT)] = ""
    model: Annotated[object, TableKey("Who plays the user; by default the judge.", own(ANY))]
    max_turns: Annotated[object, TableKey("How often the model answers at most.", own(NUMBER))]
    start: Annotated[
        object, TableKey("What was said before: a list of {role, content}, or a file.", own(ANY))
    ]
    stateful: Annotated[
        bool, TableKey("Send the latest message alone, once there is a session.", _SWITCH)
    ] = False


def read_own_user(config: Mapping[str, Any], place: Place, findings: Findings) -> OwnUser:
    """The user that a config describes; what is wrong with it is noted."""

    def unknown(path: Path_, known: Collection[str]) -> None:
        what, near = f"unknown key '{path[0]}' of {OWN_USER}", did_you_mean(str(path[0]), known)
        findings.problem(place, what, near)

    tables = TableReader(lambda _, what, hint: findings.problem(place, what, hint), unknown)
    of_a_model = [key for key in _OF_A_MODEL if key in config]
    if "turns" in config and of_a_model:
        what = f"{OWN_USER} has turns, a script, and {of_a_model[0]}, which is for a model"
        findings.problem(place, what, "Remove one of them.")
        config = {key: value for key, value in config.items() if key not in of_a_model}
    elif "turns" not in config and "goal" not in config:
        findings.problem(place, f"{OWN_USER} has neither turns nor a goal", _EITHER)
    user = tables.read(
        OwnUser,
        config,
        model=config.get("model"),
        max_turns=config.get("max_turns"),
        start=config.get("start"),
    )
    _look_at_items(config, place, findings)
    language = user.language
    if language and not has_tags(language) and not re.fullmatch(r"[A-Za-z]{2}(?:-\w+)?", language):
        what = f"language of {OWN_USER} is {language!r:.60}"
        findings.problem(place, what, "Write its code, e.g. de.")
    if "goal" in config and config["goal"] in ("", None):
        findings.problem(place, f"goal of {OWN_USER} is empty", "Say what the user wants.")
    return user


def _look_at_items(config: Mapping[str, Any], place: Place, findings: Findings) -> None:
    """Notes what is wrong inside lists and facts."""
    if config.get("turns") == []:
        findings.problem(place, f"turns of {OWN_USER} is an empty list", _EITHER)
    for key in ("turns", "never_says"):
        for number, item in enumerate(as_array(config.get(key)), 1):
            if not isinstance(item, str) or not item.strip():
                what = f"{key} of {OWN_USER}: item {number} is {item!r:.60}, not a text"
                findings.problem(place, what, "Write it in quotes.")
    facts = config.get("facts")
    for name, fact in facts.items() if is_mapping(facts) else ():
        if not isinstance(fact, (str, int, float)) or fact == "":
            what = f"facts of {OWN_USER}: '{name}' is {fact!r:.60}, not a text or a number"
            findings.problem(place, what)
