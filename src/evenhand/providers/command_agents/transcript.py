"""What a program printed, read as what an agent did: its answer, its steps, what it took."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

from msgspec import field

from evenhand.core.encoding import decoded
from evenhand.core.json_shapes import is_number, is_object, is_whole
from evenhand.core.message import Usage
from evenhand.core.record import Record
from evenhand.core.step import Step

Format = Literal["auto", "text", "steps", "claude", "codex"]
"""How a program prints what it does: plain text, our JSON lines, or those of Claude Code or Codex."""

FORMATS: tuple[Format, ...] = get_args(Format)

Line = tuple[float, str]
"""Seconds since the program began, and a line as it was printed."""


class Transcript(Record, frozen=True, kw_only=True):
    """What an agent did.

    Attributes:
        output: Its answer: a text, or the object that it was asked for. None where it gave none.
        steps: Its steps, in the order in which they began; times count from the program's start.
        usage: Tokens, of the whole run.
        cost_usd: Dollars, of the whole run; None where nobody says.
        model: The model, as the program names it.
        ended: Why it ended, in the program's words; empty for nothing special.
        failed: Why what it runs on failed it, in words; empty where nothing did. That is never the agent's failure.
        session: The id by which the program goes on with this session; empty where it has none.
    """

    output: Any = None
    steps: tuple[Step, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = None
    model: str = ""
    ended: str = ""
    failed: str = ""
    session: str = ""


def objects(lines: Iterable[Line]) -> list[tuple[float, Mapping[str, Any]]]:
    """The lines that are JSON objects."""
    written = ((at, line) for at, line in lines if line.lstrip()[:1] == "{")
    values = ((at, _value(line)) for at, line in written)
    return [(at, value) for at, value in values if is_object(value)]


def _value(line: str) -> object:
    value = decoded(line.encode("utf-8", "replace"))
    if value is None and ("NaN" in line or "Infinity" in line):
        try:  # Python prints them, and JSON doesn't have them: nobody knows the number
            value = json.loads(line, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            return None
    return value


def whole(value: object) -> int | None:
    """A number of things; None for anything else."""
    return value if is_whole(value) and value >= 0 else None


def dollars(value: object) -> float | None:
    """An amount; None for anything else."""
    if not is_number(value) or not 0 <= value < 1e9:
        return None
    return float(value)


def added(*counts: int | None) -> int | None:
    """The sum of the counts that are known; None where none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
