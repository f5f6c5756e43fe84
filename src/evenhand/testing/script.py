"""What the fake provider answers: rules, tried in order, and faults.

A script on disk is JSON lines, one rule a line:

    {"match": ["for children", "glacier"], "reply": "Glaciers are rivers of ice."}
    {"match": "grade", "reply": {"pass": true, "score": 0.9, "reason": "It is short."}}
    {"match": "busy", "fault": "429", "retry_after": "2", "times": 1}
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from evenhand.core.encoding import digest
from evenhand.core.errors import ConfigError, Problem

FAULTS: Mapping[str, str] = {
    "drop": "the connection is closed without an answer, before anything is generated",
    "lose": "the answer is generated, and the connection closed without sending it",
    "truncate": "half of the answer, then the connection is closed",
    "malformed": "status 200 with half a JSON document",
    "html": "status 200 with an HTML page",
    "empty": "status 200 with no body",
    "hang": "no answer, and the connection stays open",
}
"""Faults by name; a three-digit name is the HTTP status of an error."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        match: Regular expressions that must all be found in the conversation, system prompt included.
        reply: Text, or a JSON value that is written out.
        model: The model must be called so; empty for any.
        times: How often the rule may be used; None for ever.
        latency_ms: Before the answer begins.
        fault: A name from FAULTS, or an HTTP status.
        retry_after: The header, word for word.
        finish_reason: As OpenAI calls it; Anthropic's word for it is found.
    """

    match: tuple[str, ...] = ()
    reply: Any = ""
    model: str = ""
    times: int | None = None
    latency_ms: float = 0.0
    fault: str = ""
    retry_after: str = ""
    finish_reason: str = "stop"

    @property
    def text(self) -> str:
        """The reply as text."""
        return self.reply if isinstance(self.reply, str) else json.dumps(self.reply, ensure_ascii=False)


_KEYS: Mapping[str, tuple[type, ...]] = {
    "match": (str, list),
    "reply": (str, dict, list, int, float, bool),
    "model": (str,),
    "times": (int,),
    "latency_ms": (int, float),
    "fault": (str, int),
    "retry_after": (str, int, float),
    "finish_reason": (str,),
    "comment": (str,),
}


@dataclass(slots=True)
class Script:
    """Rules, tried in order.

    Attributes:
        rules: The first that fits is used.
        default: The reply where none fits; None refuses the request and says so. The word `{ref}` in it is replaced by
            a hash of the conversation, so that different questions have different answers.
        faults: Shares of requests, from 0 to 1, that end in a fault instead, by its name.
        seed: Which requests those are. The same request, asked again, draws again.
    """

    rules: Sequence[Rule] = ()
    default: str | None = "This is a scripted reply, ref:{ref}."
    faults: Mapping[str, float] = field(default_factory=dict[str, float])
    seed: int = 0
    _used: dict[int, int] = field(default_factory=dict[int, int], repr=False)
    _patterns: dict[str, re.Pattern[str]] = field(default_factory=dict[str, "re.Pattern[str]"], repr=False)

    @staticmethod
    def read(path: Path) -> Script:
        """A script from a file of JSON lines. What no rule fits is refused.

        Raises:
            ConfigError: All that is wrong with it, line by line.
        """
        problems: list[Problem] = []
        rules: list[Rule] = []
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([Problem(str(path), 0, 0, f"cannot be read: {error}")]) from error
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                rules.append(_rule(json.loads(line)))
            except (ValueError, TypeError) as error:
                problems.append(Problem(str(path), number, 0, f"is not a rule: {error}"))
        if problems:
            raise ConfigError(problems)
        return Script(rules, None)

    def rule_for(self, model: str, conversation: str) -> Rule | None:
        """The rule for a request; counts its use."""
        for i, rule in enumerate(self.rules):
            if rule.model and rule.model != model:
                continue
            if rule.times is not None and self._used.get(i, 0) >= rule.times:
                continue
            if all(self._pattern(p).search(conversation) for p in rule.match):
                self._used[i] = self._used.get(i, 0) + 1
                return rule
        if self.default is None:
            return None
        return Rule(reply=self.default.replace("{ref}", digest(model, conversation)[:16]))

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

    def _pattern(self, text: str) -> re.Pattern[str]:
        found = self._patterns.get(text)
        if found is None:
            found = self._patterns[text] = re.compile(text, re.DOTALL)
        return found


def _rule(value: object) -> Rule:
    if not isinstance(value, dict):
        msg = f"it is {value!r}, not an object"
        raise TypeError(msg)
    row = cast("dict[str, Any]", value)
    for key, given in row.items():
        if key not in _KEYS:
            msg = f"unknown key '{key}'; there are {', '.join(_KEYS)}"
            raise ValueError(msg)
        if not isinstance(given, _KEYS[key]):
            msg = f"'{key}' is {given!r}"
            raise TypeError(msg)
    match = row.get("match", ())
    patterns = (match,) if isinstance(match, str) else tuple(map(str, match))
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            msg = f"'{pattern}' is not a regular expression: {error}"
            raise ValueError(msg) from None
    fault = str(row.get("fault", ""))
    if fault and fault not in FAULTS and not re.fullmatch(r"[45]\d\d", fault):
        msg = f"fault '{fault}' is not known; there are {', '.join(FAULTS)}, and statuses from 400"
        raise ValueError(msg)
    return Rule(
        match=patterns,
        reply=row.get("reply", ""),
        model=row.get("model", ""),
        times=row.get("times"),
        latency_ms=float(row.get("latency_ms", 0)),
        fault=fault,
        retry_after=str(row.get("retry_after", "")),
        finish_reason=row.get("finish_reason", "stop"),
    )
