r"""Regular expressions of the filter: a small language whose search takes time in proportion to the text.

How this works: an expression is read into a program of single steps, and a text is read once, character by character,
with the set of all steps that may come next. Sets and where they lead are remembered. There is nothing to go back to,
so no expression takes exponential time, whatever the text (Thompson, 1968). While nothing has begun to match, the text
is skipped to the next place where something can. The viewer's page has the same in `page/src/model/pattern.ts`, tested
on the same vectors.

    alternatives = sequence ("|" sequence)*
    sequence     = (atom ("*" | "+" | "?" | "{n}" | "{n,}" | "{n,m}")?)*
    atom         = character | "." | "[…]" | "[^…]" | "(…)" | "^" | "$" | "\d \w \s \b" and their capitals

Upper and lower case are alike. `\d`, `\w`, `\s` and `\b` know ASCII. `^` and `$` are the ends of a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import field

from evenhand.core.record import MutableRecord, Record

LARGEST = 2_000
"""Steps of a program."""
_REMEMBERED = 50_000
"""Ways from one set to the next."""
_DEEPEST = 50
"""Brackets in brackets."""
_END = -1
_FIRST = frozenset({0})
_LONGEST = 40
"""Characters of a beginning that is looked for."""
_MOST = 50
"""Beginnings that are looked for at once."""
_NEWLINE = 10
_COUNTED = re.compile(r"\{(\d{1,4})(?:(,)(\d{1,4})?)?\}", re.ASCII)

Ranges = tuple[tuple[int, int], ...]
_DIGIT: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 13), (32, 32), (160, 160))
_CLASSES: dict[str, Ranges] = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_CONTROLS = {"n": 10, "t": 9, "r": 13}


class PatternError(ValueError):
    """What is wrong with an expression, and what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


class _Set(Record, frozen=True):
    """One character of these, or with `negated` any other."""

    ranges: Ranges
    negated: bool = False

    def holds(self, code: int) -> bool:
        return any(low <= code <= high for low, high in self.ranges) != self.negated


class _At(Record, frozen=True):
    """A place between two characters."""

    kind: Literal["^", "$", "b", "B"]


class _Split(Record, frozen=True):
    first: int
    second: int


class _Jump(Record, frozen=True):
    to: int


class _Sequence(Record, frozen=True):
    parts: tuple[_Node, ...]


class _Either(Record, frozen=True):
    parts: tuple[_Node, ...]


class _Repeated(Record, frozen=True):
    part: _Node
    least: int
    most: int | None


_Node = _Set | _At | _Sequence | _Either | _Repeated
_Step = _Set | _At | _Split | _Jump | None
"""None is the end: found."""


class _State(MutableRecord):
    """The steps that may come next, and the character before: `next` is where each character leads; None is found.

    It is idle while nothing has begun to match.
    """

    steps: frozenset[int]
    before: int
    idle: bool
    next: dict[int, _State | None] = field(default_factory=dict[int, "_State | None"])


class Pattern:
    """A regular expression that can be looked for.

    Args:
        source: What stands between the slashes.

    Raises:
        PatternError: It is not of this language, or too large.
    """

    def __init__(self, source: str) -> None:
        node = _Reader(source).whole()
        self._steps: list[_Step] = []
        self._write(node)
        self._steps.append(None)
        self.needed = _needed(node)
        self._begins = _beginnings(node)
        self._states: dict[tuple[frozenset[int], int], _State] = {}
        self._remembered = 0
        self._start = self._state(_FIRST, _END)

    def search(self, text: str) -> bool:
        """Whether it occurs in a text, which is in lower case."""
        if self.needed is not None and not any(part in text for part in self.needed):
            return False
        if self._begins:
            return self._search_from(self._begins, text)
        state = self._start
        for code in map(ord, text):
            after = state.next.get(code, state)
            if after is state and code not in state.next:
                after = self._after(state, code)
            if after is None:
                return True
            state = after
        return (state.next[_END] if _END in state.next else self._after(state, _END)) is None

    def _search_from(self, begins: Sequence[str], text: str) -> bool:
        """A search where only some places can be the beginning: each character is looked at once."""
        place, size = 0, len(text)
        # Where each beginning is next. An `re` of all of them is slower than `find` for each.
        hits = [-1] * len(begins)
        while True:
            for i, beginning in enumerate(begins):
                if hits[i] < place:
                    at = text.find(beginning, place)
                    hits[i] = size if at < 0 else at
            place = min(hits)
            if place == size:
                return False
            state = self._idle(_kind(ord(text[place - 1])) if place else _END)
            while place < size:
                code = ord(text[place])
                after = state.next[code] if code in state.next else self._after(state, code)
                if after is None:
                    return True
                state, place = after, place + 1
                if state.idle:
                    break
            else:
                return self._after(state, _END) is None

    def _after(self, state: _State, code: int) -> _State | None:
        """Where a character leads from a state; it is remembered."""
        reached = self._reached(state.steps, state.before, code)
        following: _State | None = None
        if reached is not None:
            steps = {0}
            for at in reached:
                step = self._steps[at]
                if code != _END and isinstance(step, _Set) and step.holds(code):
                    steps.add(at + 1)
            following = self._state(frozenset(steps), _kind(code))
        if self._remembered > _REMEMBERED:
            self._states, self._remembered = {}, 0
            self._start = self._state(_FIRST, _END)
        state.next[code] = following
        self._remembered += 1
        return following

    def _idle(self, before: int) -> _State:
        key = _FIRST, before
        return self._states[key] if key in self._states else self._state(*key)

    def _state(self, steps: frozenset[int], before: int) -> _State:
        return self._states.setdefault((steps, before), _State(steps, before, steps == _FIRST))

    def _reached(self, steps: frozenset[int], before: int, code: int) -> set[int] | None:
        """All steps that are reached without a character, between these two; None where the end is one of them."""
        seen: set[int] = set()
        left = list(steps)
        while left:
            at = left.pop()
            if at in seen:
                continue
            seen.add(at)
            match self._steps[at]:
                case None:
                    return None
                case _Split(first, second):
                    left += [first, second]
                case _Jump(to):
                    left.append(to)
                case _At(kind):
                    if _stands(kind, before, _kind(code)):
                        left.append(at + 1)
                case _Set():
                    pass
        return seen

    def _write(self, node: _Node) -> None:
        steps = self._steps
        if len(steps) > LARGEST:
            raise PatternError("the regular expression is too large", "Repeat less in it.")
        match node:
            case _Set() | _At():
                steps.append(node)
            case _Sequence(parts):
                for part in parts:
                    self._write(part)
            case _Either(parts):
                ends: list[int] = []
                for part in parts[:-1]:
                    split = len(steps)
                    steps.append(None)
                    self._write(part)
                    ends.append(len(steps))
                    steps.append(None)
                    steps[split] = _Split(split + 1, len(steps))
                self._write(parts[-1])
                for end in ends:
                    steps[end] = _Jump(len(steps))
            case _Repeated(part, least, most):
                for _ in range(least):
                    self._write(part)
                splits: list[int] = []
                for _ in range(1 if most is None else most - least):
                    splits.append(len(steps))
                    steps.append(None)
                    self._write(part)
                if most is None:
                    steps.append(_Jump(splits[0]))
                for split in splits:
                    steps[split] = _Split(split + 1, len(steps))


def _kind(code: int) -> int:
    """As much of a character as places depend on: the end, a line feed, part of a word (1) or none (0)."""
    if code in (_END, _NEWLINE):
        return code
    return int(any(low <= code <= high for low, high in _WORD))


def _stands(kind: str, before: int, after: int) -> bool:
    if kind == "^":
        return before in (_END, _NEWLINE)
    if kind == "$":
        return after in (_END, _NEWLINE)
    return ((before == 1) != (after == 1)) == (kind == "b")


def _needed(node: _Node) -> tuple[str, ...] | None:
    """Texts of which one stands in whatever is found; None where nothing can be said."""
    if isinstance(node, _Either):
        parts = [_needed(part) for part in node.parts]
        return None if None in parts else tuple(t for part in parts for t in part or ())
    if isinstance(node, _Repeated):
        return _needed(node.part) if node.least else None
    if not isinstance(node, _Sequence):
        return (_letter(node),) if _letter(node) else None
    best: tuple[str, ...] | None = None
    run = ""
    for part in (*node.parts, None):
        letter = "" if part is None else _letter(part)
        run += letter
        if not letter:
            options: list[tuple[str, ...]] = [(run,)] if run else []
            if part is not None and (inner := _needed(part)):
                options.append(inner)
            best = max([*options, *([best] if best else [])], key=_worth, default=None)
            run = ""
    return best


def _beginnings(node: _Node) -> tuple[str, ...] | None:
    """Texts with one of which whatever is found begins; None where nothing can be said."""
    if isinstance(node, _Either):
        parts = [_beginnings(part) for part in node.parts]
        texts = tuple(dict.fromkeys(text for part in parts for text in part or ()))
        return None if None in parts or len(texts) > _MOST else texts
    if isinstance(node, _Repeated):
        return _beginnings(node.part) if node.least else None
    if not isinstance(node, _Sequence):
        return (_letter(node),) if _letter(node) else None
    run = ""
    for part in node.parts:
        if isinstance(part, _At) and not run:
            continue
        letter = _letter(part)
        if not letter:
            return (run[:_LONGEST],) if run else _beginnings(part)
        run += letter
    return (run[:_LONGEST],) if run else None


def _worth(texts: tuple[str, ...]) -> int:
    return min(map(len, texts))


def _letter(node: _Node) -> str:
    """The one character that it is; empty for anything else."""
    if isinstance(node, _Set) and not node.negated and len(node.ranges) == 1:
        (low, high), *_ = node.ranges
        return chr(low) if low == high else ""
    return ""


class _Reader:
    """Reads an expression, from left to right."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._at = 0
        self._depth = 0

    def whole(self) -> _Node:
        node = self._either()
        if self._at < len(self._source):
            raise PatternError("a ')' has no '('", r"Write \) for the character.")
        return node

    def _either(self) -> _Node:
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else _Either(tuple(parts))

    def _sequence(self) -> _Node:
        parts: list[_Node] = []
        while self._at < len(self._source) and self._source[self._at] not in "|)":
            parts.append(self._counted(self._atom()))
        return _Sequence(tuple(parts))

    def _counted(self, node: _Node) -> _Node:
        counted = _COUNTED.match(self._source, self._at)
        least, most = 0, None
        if counted:
            least = int(counted[1])
            most = least if not counted[2] else int(counted[3]) if counted[3] else None
            if most is not None and most < least:
                raise PatternError(f"'{counted[0]}' counts down", "The smaller number is first.")
            self._at = counted.end()
        elif self._take("+"):
            least = 1
        elif self._take("?"):
            most = 1
        elif not self._take("*"):
            return node
        self._take("?")  # as little as possible: of whether it is found the same
        if self._at < len(self._source) and self._source[self._at] in "*+?":
            raise PatternError("a repetition is repeated", "Put what is repeated in brackets.")
        return _Repeated(node, least, most)

    def _atom(self) -> _Node:
        c = self._next()
        if c == "(":
            if self._take("?") and not self._take(":"):
                raise PatternError(
                    "lookaheads, lookbehinds and flags are not supported", "Use plain brackets."
                )
            self._depth += 1
            if self._depth > _DEEPEST:
                raise PatternError("the regular expression is too large", "Use fewer brackets.")
            node = self._either()
            self._depth -= 1
            if not self._take(")"):
                raise PatternError("a '(' is not closed", r"Write \( for the character.")
            return node
        if c == "[":
            return self._class()
        if c == ".":
            return _Set(((_NEWLINE, _NEWLINE),), negated=True)
        if c == "^":
            return _At("^")
        if c == "$":
            return _At("$")
        if c in "*+?":
            raise PatternError(f"nothing stands before '{c}'", rf"Write \{c} for the character.")
        if c == "\\":
            escaped = self._escaped()
            return _At(escaped) if isinstance(escaped, str) else escaped
        return _Set(_lowered(((ord(c), ord(c)),)))

    def _class(self) -> _Set:
        negated = self._take("^")
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self._take("]"):
            if self._at >= len(self._source):
                raise PatternError("a '[' is not closed", r"Write \[ for the character.")
            first = False
            low = self._member()
            if not isinstance(low, int):
                ranges += low
                continue
            high = low
            if self._source[self._at : self._at + 1] == "-" and self._source[
                self._at + 1 : self._at + 2
            ] not in ("]", ""):
                self._at += 1
                end = self._member()
                if not isinstance(end, int) or end < low:
                    raise PatternError("a range of characters runs backwards", r"E.g. [a-z]")
                high = end
            ranges.append((low, high))
        return _Set(_lowered(tuple(ranges)), negated=negated)

    def _member(self) -> int | Ranges:
        """A character of a class, or several that an escape stands for."""
        c = self._next()
        if c != "\\":
            return ord(c)
        escaped = self._escaped()
        if isinstance(escaped, str):
            raise PatternError(
                rf"\{escaped} is a place and no character", "Write it outside of []."
            )
        if escaped.negated:
            raise PatternError("capitals such as \\D do not stand in []", r"E.g. [^\d]")
        return (
            escaped.ranges[0][0]
            if len(escaped.ranges) == 1 and escaped.ranges[0][0] == escaped.ranges[0][1]
            else escaped.ranges
        )

    def _escaped(self) -> _Set | Literal["b", "B"]:
        if self._at >= len(self._source):
            raise PatternError("nothing stands after '\\'", r"Write \\ for the character.")
        c = self._next()
        if c in ("b", "B"):
            return c
        if c.lower() in _CLASSES:
            return _Set(_lowered(_CLASSES[c.lower()]), negated=c.isupper())
        if c in _CONTROLS:
            return _Set(((_CONTROLS[c], _CONTROLS[c]),))
        if c.isascii() and c.isalnum():
            raise PatternError(rf"'\{c}' is not supported", r"There are \d \w \s \b \n \t \r.")
        return _Set(_lowered(((ord(c), ord(c)),)))

    def _next(self) -> str:
        self._at += 1
        return self._source[self._at - 1]

    def _take(self, text: str) -> bool:
        if not self._source.startswith(text, self._at):
            return False
        self._at += len(text)
        return True


def _lowered(ranges: Sequence[tuple[int, int]]) -> Ranges:
    """The same characters in lower case, as the text is: of single characters any, of ranges the letters A to Z."""
    lowered: list[tuple[int, int]] = []
    for low, high in ranges:
        if low == high:
            small = chr(low).lower()
            lowered.append((ord(small), ord(small)) if len(small) == 1 else (low, high))
            continue
        lowered.append((low, high))
        first, last = max(low, 65), min(high, 90)
        if first <= last:
            lowered.append((first + 32, last + 32))
    return tuple(lowered)
