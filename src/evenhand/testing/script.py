"""What the fake provider answers: rules, tried in order, and faults.

A script on disk is JSON lines, one rule a line; every pattern is a regular expression that must be found:

    {"match": ["for children", "glacier"], "reply": "Glaciers are rivers of ice."}
    {"match": {"system": "You grade", "last": "glacier"}, "reply": {"pass": true, "score": 0.9, "reason": "Short."}}
    {"match": "busy", "fault": "429", "retry_after": "2", "times": 1}
"""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import digest
from evenhand.core.errors import ConfigError, Problem
from evenhand.core.json_shapes import as_array, as_mapping, is_mapping, is_object
from evenhand.core.names import did_you_mean
from evenhand.core.record import Record
from evenhand.core.scripted import NO_RULE, REPLY_LIKE
from evenhand.core.wording.words import clip
from evenhand.testing.function_calls import ToolCalls, problems_of

FAULTS: Mapping[str, str] = {
    "drop": "the connection is closed without an answer, before anything is generated",
    "lose": "the answer is generated, and the connection closed without sending it",
    "truncate": "half of the answer, then the connection is closed",
    "reset": "half of the answer, then the connection is reset",
    "malformed": "status 200 with half a JSON document",
    "html": "status 200 with an HTML page",
    "empty": "status 200 with no body",
    "silent": "status 200 with an answer that has null where its text should be",
    "slow": "the answer comes whole, in pieces spread over one second",
    "hang": "no answer, and the connection stays open",
    "refused": "a decision model refuses each question; other models answer",
    "missing": "a decision model leaves all answers out; other models answer",
    "nan": "a decision model's probabilities are NaN; other models answer",
    "above_one": "a decision model's probabilities are above 1; other models answer",
    "unsummed": "a decision model's probabilities don't add up; other models answer",
    "other_question": "a decision model answers questions that nobody asked; other models answer",
}
"""Faults by name; a three-digit name is the HTTP status of an error."""

SPOILED = ("refused", "missing", "nan", "above_one", "unsummed", "other_question")
"""The faults of decision models' answers, whose replies are whole otherwise."""

_STATUS = re.compile(r"[45]\d\d")
_MARKED = re.compile(r"<(\w+) (\w+)>\n(.*?)\n</\1 \2>", re.DOTALL)
"""A text between the marks of a judge's prompt."""
_LONGEST = 40
"""So many characters are quoted of a text."""


class ScriptedRequest(Record, frozen=True):
    """A request, as rules see it.

    Attributes:
        text: The whole conversation, system prompt first.
        last: The last message of the user.
        schema: The JSON Schema that the answer is to fit; None for none.
    """

    model: str
    text: str
    system: str = ""
    last: str = ""
    path: str = ""
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It fits where all that it names is found.

    Attributes:
        match: Regular expressions, looked for in the conversation, system prompt included.
        reply: Text; or a JSON value that is written out; or a function of the conversation that returns either.
        model: The model must be called so; empty for any.
        times: How often the rule may be used; None forever.
        latency_ms: Before the answer begins.
        fault: A name from FAULTS, or an HTTP status.
        retry_after: The header, word for word. `{date+2}` in it is the HTTP date two seconds from now.
        finish_reason: As OpenAI calls it; Anthropic's word for it is found.
        tool_calls: What the answer of a model that chats asks tools for, each
            `{"name": "find_order", "arguments": {"id": 1042}}`.
        last: A regular expression, looked for in the last message of the user.
        system: The same, in the system prompt.
        path: The same, in the URL's path. Only rules that name a path are looked at for embeddings and
            moderations; the reply of the latter is an object, flagged category → score. Rules that name a
            path that is no vendor's are answered word for word, as JSON.
        headers: Sent with the answer. `{date+2}` as above; `{time+2}` is the same moment in RFC 3339.
    """

    match: tuple[str, ...] = ()
    reply: Any = ""
    model: str = ""
    times: int | None = None
    latency_ms: float = 0.0
    fault: str = ""
    retry_after: str = ""
    finish_reason: str = "stop"
    last: str = ""
    system: str = ""
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    tool_calls: ToolCalls = ()

    def __post_init__(self) -> None:
        problems = _faulty(self.fault) if self.fault else []
        problems += problems_of(self.tool_calls)
        for pattern in (*self.match, self.last, self.system, self.path):
            problems += _pattern_problems(pattern)
        if problems:
            raise ValueError("; ".join(problems))

    def reply_text(self, conversation: str) -> str:
        """The reply as text."""
        reply = self.reply
        if callable(reply):
            reply = cast("Callable[[str], object]", reply)(conversation)
        return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)

    def fits(self, asked: ScriptedRequest) -> bool:
        """Whether all that the rule names is found."""
        return (
            (not self.model or self.model == asked.model)
            and (not self.path or _matches(self.path, asked.path))
            and (not self.last or _matches(self.last, asked.last))
            and (not self.system or _matches(self.system, asked.system))
            and all(_matches(pattern, asked.text) for pattern in self.match)
        )


@dataclass(slots=True)
class Script:
    """Rules, tried in order.

    Attributes:
        rules: The first that fits is used.
        default: The reply where none fits; None refuses the request and says so. The word `{ref}` in it is replaced by
            a hash of the conversation, so that different questions have different answers.
        faults: Shares of requests, from 0 to 1, that end in a fault instead, by its name.
        seed: Which requests those are. The same request, asked again, draws again.
        file: The name of the file that it was read from; empty for none.
    """

    rules: Sequence[Rule] = ()
    default: str | None = "This is a scripted reply, ref:{ref}."
    faults: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0
    file: str = ""
    _used: dict[int, int] = field(default_factory=dict[int, int], repr=False)
    _lines: Sequence[int] = ()
    _refused: int = 0

    def __post_init__(self) -> None:
        problems = [problem for name in self.faults for problem in _faulty(name)]
        if sum(self.faults.values()) > 1 or any(share < 0 for share in self.faults.values()):
            problems.append(f"the shares {dict(self.faults)} are not shares of 1")
        if problems:
            raise ValueError("; ".join(problems))

    @staticmethod
    def read(path: str | Path) -> Script:
        """A script from a file of JSON lines. What no rule fits is refused.

        Raises:
            ConfigError: All that is wrong with it, line by line.
        """
        path, file = Path(path), str(path)
        try:
            lines = path.read_text("utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([Problem(file, 0, 0, f"cannot be read: {error}")]) from error
        problems: list[Problem] = []
        rules: list[Rule] = []
        numbers: list[int] = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value: object = json.loads(line)
            except (ValueError, RecursionError) as error:
                column = error.colno if isinstance(error, json.JSONDecodeError) else 0
                problems.append(Problem(file, number, column, f"is not JSON: {error}", _JSON_HINT))
                continue
            rule, mistakes = _rule(value)
            problems += [Problem(file, number, 0, what, hint) for what, hint in mistakes]
            if rule is not None:
                rules.append(rule)
                numbers.append(number)
        if problems:
            raise ConfigError(problems)
        return Script(rules, None, file=path.name, _lines=numbers)

    @property
    def refused(self) -> int:
        """How many requests no rule fitted."""
        return self._refused

    @property
    def unused_lines(self) -> list[int]:
        """The lines of its file whose rules answered nothing; none if nothing was asked."""
        if not self._used and not self._refused:
            return []
        return [line for i, line in enumerate(self._lines) if i not in self._used]

    def rule_for(self, asked: ScriptedRequest, *, by_path: bool = False) -> Rule | None:
        """The rule for a request; counts its use. None where no rule fits and there is no default.

        Args:
            by_path: Only rules that name a path are meant, and there is no default.
        """
        for i, rule in enumerate(self.rules):
            if by_path and not rule.path:
                continue
            if rule.times is not None and self._used.get(i, 0) >= rule.times:
                continue
            if rule.fits(asked):
                self._used[i] = self._used.get(i, 0) + 1
                return rule
        if by_path or self.default is None:
            return None
        return Rule(reply=self.default.replace("{ref}", digest(asked.model, asked.text)[:16]))

    def lacks(self, asked: ScriptedRequest) -> str:
        """That no rule fits a request, with the words that tell it from others."""
        self._refused += 1
        shape = "" if asked.schema is None else f"{REPLY_LIKE}{example_of(asked.schema)}"
        return f"{self.file or 'the script'}{NO_RULE}{_excerpt(asked.text)}{shape}"

    def fault_for(self, key: str, attempt: int) -> str:
        """The fault that this attempt at a request draws; empty for none."""
        if not self.faults:
            return ""
        draw = random.Random(f"{self.seed} {key} {attempt}").random()  # noqa: S311 (faults, not secrets)
        for name, share in self.faults.items():
            if draw < share:
                return name
            draw -= share
        return ""


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)  # kept by us: re itself forgets all but some hundred


def _matches(pattern: str, text: str) -> bool:
    return _compiled(pattern).search(text) is not None


def _faulty(name: str) -> list[str]:
    if name in FAULTS or _STATUS.fullmatch(name):
        return []
    return [f"fault '{name}' is not known; there are {', '.join(FAULTS)}, and statuses from 400"]


def _pattern_problems(pattern: str) -> list[str]:
    try:
        _compiled(pattern)
    except re.error as error:
        return [f"'{pattern}' is not a regular expression: {error}"]
    return []


# Rules on disk

_JSON_HINT = "A script has one rule, a JSON object, on each line."
_PLACES = ("text", "last", "system", "model", "path")
RULE_KEYS: Mapping[str, tuple[str, tuple[type, ...]]] = {
    "match": ("text, a list of texts, or an object", (str, list, dict)),
    "reply": ("text or another JSON value", (str, dict, list, int, float, bool)),
    "model": ("text", (str,)),
    "times": ("a whole number", (int,)),
    "latency_ms": ("a number", (int, float)),
    "fault": ("a fault's name or an HTTP status", (str, int)),
    "retry_after": ("a number or text", (str, int, float)),
    "finish_reason": ("text", (str,)),
    "headers": ("an object", (dict,)),
    "tool_calls": ("a list of calls", (list,)),
    "comment": ("text", (str,)),
}
"""The keys of a rule on disk: what each has to be, in words and in kinds."""

_Finding = tuple[str, str]


def _rule(value: object) -> tuple[Rule | None, list[_Finding]]:
    """The rule that a line holds, or all that is wrong with it: what, and what to do."""
    if not is_object(value):
        return None, [(f"a rule is an object, and this is {_short(value)}", _JSON_HINT)]
    row = value
    problems = [_unknown(key, RULE_KEYS) for key in row if key not in RULE_KEYS]
    for key, (expected, kinds) in RULE_KEYS.items():
        entry = row.get(key)
        if entry is None:
            if key in row:
                problems.append((f"'{key}' is null, and has to be {expected}", ""))
        elif not isinstance(entry, kinds) or (isinstance(entry, bool) and bool not in kinds):
            problems.append((f"'{key}' is {_short(entry)}, and has to be {expected}", ""))
        elif key in ("times", "latency_ms") and entry < 0:
            problems.append((f"'{key}' is {entry}, and cannot be negative", ""))
    if problems:
        return None, problems
    places, problems = _places(row.get("match", {}))
    fault = str(row.get("fault", ""))
    problems += [(problem, "") for problem in (_faulty(fault) if fault else [])]
    problems += [(problem, "") for problem in problems_of(row.get("tool_calls", []))]
    for pattern in [*places["text"], *(places[p] for p in ("last", "system", "path"))]:
        problems += [(problem, "") for problem in _pattern_problems(pattern)]
    if problems:
        return None, problems
    rule = Rule(
        match=tuple(places["text"]),
        reply=row.get("reply", ""),
        model=row.get("model") or places["model"],
        times=row.get("times"),
        latency_ms=float(row.get("latency_ms", 0)),
        fault=fault,
        retry_after=str(row.get("retry_after", "")),
        finish_reason=row.get("finish_reason", "stop"),
        last=places["last"],
        system=places["system"],
        path=places["path"],
        headers={name: str(text) for name, text in row.get("headers", {}).items()},
        tool_calls=tuple(row.get("tool_calls", ())),
    )
    return rule, []


def _places(match: Any) -> tuple[dict[str, Any], list[_Finding]]:
    """Where to look for which pattern: everything is text, but `text` is a list of them."""
    places: dict[str, Any] = {"text": [], "last": "", "system": "", "model": "", "path": ""}
    problems: list[_Finding] = []
    named: dict[str, Any] = match if isinstance(match, dict) else {"text": match}
    for place, pattern in named.items():
        if place not in _PLACES:
            problems.append(_unknown(place, _PLACES))
        elif place == "text":
            patterns: list[Any] = pattern if isinstance(pattern, list) else [pattern]
            wrong = [p for p in patterns if not isinstance(p, str)]
            problems += [(f"'match' holds {_short(p)}, and a pattern is text", "") for p in wrong]
            places["text"] = [p for p in patterns if isinstance(p, str)]
        elif isinstance(pattern, str):
            places[place] = pattern
        else:
            problems.append((f"'match.{place}' is {_short(pattern)}, and a pattern is text", ""))
    return places, problems


def _unknown(key: str, known: Sequence[str] | Mapping[str, object]) -> _Finding:
    hint = f"{did_you_mean(key, known)} There are {', '.join(known)}.".lstrip()
    return f"key '{key}' is not known", hint


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"


def _excerpt(conversation: str) -> str:
    """What tells a request from others, in a line: what a judge's prompt has between marks, or else the last words."""
    marked = [(name, text) for name, _, text in _MARKED.findall(conversation)]
    if marked:
        # The criterion comes first, and the output last.
        parts = dict([marked[0], marked[-1]])
        return " · ".join(f"{name} {_cut(text)}" for name, text in parts.items())
    line = " ".join(conversation.split())
    return line if len(line) <= 2 * _LONGEST else f"…{line[-2 * _LONGEST :]}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return f'"{clip(line, _LONGEST)}"'


_DEEPEST = 3
"""How often a reference is followed into itself."""
_OF_TYPE: Mapping[str, Any] = {
    "string": "…",
    "number": 1,
    "integer": 1,
    "boolean": True,
    "null": None,
}


def example_of(schema: Mapping[str, Any]) -> str:
    """The shortest value that shows all keys, as JSON; an array has one item.

    >>> example_of({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["x", "y"]}}}})
    '{"a": ["x"]}'
    """
    return json.dumps(_example(schema, schema, _DEEPEST), ensure_ascii=False)


def _example(part: object, whole: Mapping[str, Any], depth: int) -> Any:
    schema = as_mapping(part)
    if isinstance(name := schema.get("$ref"), str):
        if depth == 0:  # a schema may refer to itself
            return "…"
        target: object = whole
        for key in name.removeprefix("#/").split("/"):
            target = as_mapping(target).get(key)
        return _example(target, whole, depth - 1)
    if "const" in schema:
        return schema["const"]
    for key in ("enum", "anyOf", "oneOf", "allOf"):
        if first := [*as_array(schema.get(key))][:1]:
            return first[0] if key == "enum" else _example(first[0], whole, depth)
    if is_mapping(properties := schema.get("properties")):
        return {name: _example(one, whole, depth) for name, one in properties.items()}
    if "items" in schema:
        return [_example(schema["items"], whole, depth)]
    kinds = schema.get("type")
    return _OF_TYPE.get(str(kinds[0] if isinstance(kinds, list) else kinds), "…")
