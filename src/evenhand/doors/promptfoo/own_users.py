"""`evenhand:user`: what the config of a user of our own says, a script or a model with a goal."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any

from msgspec.structs import replace

from evenhand.core.json_schema import ANY, NUMBER, TABLE, TEXT, TEXTS, Part
from evenhand.core.json_shapes import as_array, is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.table import Form, Path_, TableKey, TableReader, own
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.templates.rendering import has_tags

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
        items = config.get(key)
        for number, item in enumerate(as_array(items), 1):
            if not isinstance(item, str) or not item.strip():
                what = f"{key} of {OWN_USER}: item {number} is {item!r:.60}, not a text"
                findings.problem(place, what, "Write it in quotes.")
    facts = config.get("facts")
    for name, fact in facts.items() if is_mapping(facts) else ():
        if not isinstance(fact, (str, int, float)) or fact == "":
            what = f"facts of {OWN_USER}: '{name}' is {fact!r:.60}, not a text or a number"
            findings.problem(place, what)
