"""`evenhand:user`: what the config of a user of our own says, a script or a model with a goal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evenhand.core.json_schema import ANY, NUMBER, TABLE, TEXT, TEXTS
from evenhand.core.json_shapes import is_array, is_mapping
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.table import TableKey, own
from evenhand.languages.documents.findings import Findings, Place
from evenhand.languages.templates.rendering import has_tags

OWN_USER = "evenhand:user"
SIMULATED_KEYS = ("goal", "facts", "never_says", "persona", "language", "model")
SHARED_KEYS = ("max_turns", "start", "stateful")
KEYS: Mapping[str, TableKey] = {
    "turns": TableKey("A script: what the user says, turn by turn.", own(TEXTS)),
    "goal": TableKey("What the user wants, for one that a model plays.", own(TEXT)),
    "facts": TableKey("What the user knows, by name.", own(TABLE)),
    "never_says": TableKey("What the user must not say.", own(TEXTS)),
    "persona": TableKey("How the user is and speaks.", own(TEXT)),
    "language": TableKey("The language the user speaks, as a code: de.", own(TEXT)),
    "model": TableKey("Who plays the user; by default the judge.", own(ANY)),
    "max_turns": TableKey("How often the model answers at most.", own(NUMBER)),
    "start": TableKey("What was said before: a list of {role, content}, or a file.", own(ANY)),
    "stateful": TableKey(
        "Send the latest message alone, once there is a session.", own({"type": "boolean"})
    ),
}
_EITHER = "Write turns: [Hi!, …] for a script, or goal: You want … for a user that a model plays."


class OwnUser(Record, frozen=True, kw_only=True):
    """What is particular to a user of our own; tags in its texts are filled in.

    Attributes:
        turns: What it says, turn by turn; empty for one that a model plays.
        goal: What it wants; empty for a script.
        facts: What it knows, by name: texts, numbers, true or false.
        never_says: What it must not say, each in words.
        persona: How it is and speaks; may be empty.
        language: The code of the language it speaks; empty for that of its goal.
    """

    turns: tuple[str, ...] = ()
    goal: str = ""
    facts: Mapping[str, Any] = {}
    never_says: tuple[str, ...] = ()
    persona: str = ""
    language: str = ""


def read_own_user(config: Mapping[str, Any], place: Place, findings: Findings) -> OwnUser:
    """The user that a config describes; what is wrong with it is noted."""
    for key in config:
        if key not in KEYS:
            findings.problem(place, f"unknown key '{key}' of {OWN_USER}", did_you_mean(key, KEYS))
    scripted, simulated = "turns" in config, [key for key in SIMULATED_KEYS if key in config]
    if scripted and simulated:
        what = f"{OWN_USER} has turns, a script, and {simulated[0]}, which is for a model"
        findings.problem(place, what, "Remove one of them.")
    elif not scripted and "goal" not in config:
        findings.problem(place, f"{OWN_USER} has neither turns nor a goal", _EITHER)
    if not isinstance(config.get("stateful", False), bool):
        what = f"stateful of {OWN_USER} is {config['stateful']!r:.60}, not true or false"
        findings.problem(place, what)
    if scripted:
        turns = _texts(config, "turns", place, findings)
        if config["turns"] == []:
            findings.problem(place, f"turns of {OWN_USER} is an empty list", _EITHER)
        return OwnUser(turns=turns)
    language = _text(config, "language", place, findings)
    if language and not has_tags(language) and not re.fullmatch(r"[A-Za-z]{2}(?:-\w+)?", language):
        what = f"language of {OWN_USER} is {language!r:.60}"
        findings.problem(place, what, "Write its code, e.g. de.")
    goal = _text(config, "goal", place, findings)
    if "goal" in config and config["goal"] in ("", None):
        findings.problem(place, f"goal of {OWN_USER} is empty", "Say what the user wants.")
    return OwnUser(
        turns=(),
        goal=goal,
        facts=_facts(config.get("facts"), place, findings),
        never_says=_texts(config, "never_says", place, findings),
        persona=_text(config, "persona", place, findings),
        language=language,
    )


def _text(config: Mapping[str, Any], key: str, place: Place, findings: Findings) -> str:
    value = config.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    findings.problem(place, f"{key} of {OWN_USER} is {value!r:.60}, not a text")
    return ""


def _texts(
    config: Mapping[str, Any], key: str, place: Place, findings: Findings
) -> tuple[str, ...]:
    value = config.get(key, [])
    if not is_array(value):
        what = f"{key} of {OWN_USER} is {value!r:.60}, not a list of texts"
        findings.problem(place, what)
        return ()
    items = value
    for counted, item in enumerate(items, 1):
        if not isinstance(item, str) or not item.strip():
            what = f"{key} of {OWN_USER}: item {counted} is {item!r:.60}, not a text"
            findings.problem(place, what, "Write it in quotes.")
    return tuple(item for item in items if isinstance(item, str))


def _facts(value: object, place: Place, findings: Findings) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not is_mapping(value):
        what = f"facts of {OWN_USER} is {value!r:.60}, not an object"
        findings.problem(place, what, "Write facts: {order number: '1042'}.")
        return {}
    facts = value
    for name, fact in facts.items():
        if not isinstance(fact, (str, int, float)) or fact == "":
            what = f"facts of {OWN_USER}: '{name}' is {fact!r:.60}, not a text or a number"
            findings.problem(place, what)
    return facts
