"""JSON that stands in blocks of its own in a text: it begins its first line and ends its last.

How this works: brackets outside of quotes and of fenced code are paired, and the outermost pairs are tried. One that
is no JSON after all (prose in braces, say) is looked into for those inside it. What cannot be paired, because something
between it and its partner never ends, counts for nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from evenhand.core.errors import ScoreError
from evenhand.core.record import Record

MOST_UNPAIRED = 65_536
WORK = 4
"""How many times the text's own length may be read as blocks."""

_CLOSES = {"}": "{", "]": "["}
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-+*]|[0-9]+[.)])[ \t]+")
_MARKS = re.compile(r'["{}\[\]]')
_REST_OF_STRING = re.compile(r'(?>(?:\\.|[^"\\])*)(")?', re.DOTALL)
_SPACE = (
    "\t\n\v\f\r \xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f"
    "\u205f\u3000\ufeff"
)
"""What JavaScript trims."""


class TooTangled(ScoreError):
    """Looking for JSON in the text takes more work than is allowed."""


class _Mark(Record, frozen=True):
    """A bracket: what it is, where it stands, and whether anything stands before or behind it in its line."""

    sign: str
    at: int
    begins_line: bool
    ends_line: bool


class _Span(Record, frozen=True):
    start: int
    end: int
    begins_line: bool
    ends_line: bool


def json_blocks(text: str) -> Iterator[Any]:
    """The values of the blocks, in their order.

    Raises:
        TooTangled: There is too much that looks like JSON and is none.
    """
    waiting = [iter(_widest(text, depth=0))]
    work = WORK * len(text)
    texts = [text]
    while waiting:
        span = next(waiting[-1], None)
        if span is None:
            waiting.pop()
            texts.pop()
            continue
        if not span.ends_line:
            continue
        block = texts[-1][span.start : span.end]
        if len(block) > work:
            raise TooTangled("the output has too much in it that is nearly JSON")
        work -= len(block)  # a text of nested braces would be read again at every depth
        try:
            value = strict_json(block)
        except ValueError:
            waiting.append(iter(_widest(block, depth=1)))
            texts.append(block)
            continue
        if span.begins_line:
            yield value


def strict_json(text: str) -> Any:
    """The value of a text that is JSON, and nothing besides.

    Raises:
        ValueError: It is not.
    """
    try:
        # Python's reader accepts NaN and Infinity, which JSON does not have.
        return json.loads(text, parse_constant=_refused)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _refused(word: str) -> None:
    raise ValueError(word)


def _widest(text: str, depth: int) -> Sequence[_Span]:
    """The pairs of brackets that are in so many others: the outermost are in none."""
    spans: list[_Span] = []
    ends: list[int] = []
    for span in _pairs(text):
        while ends and span.start >= ends[-1]:
            ends.pop()
        if len(ends) == depth:
            spans.append(span)
        ends.append(span.end)
    return spans


def _pairs(text: str) -> list[_Span]:
    """Every bracket with its partner, by where they open."""
    pairs: list[_Span] = []
    opened: list[_Mark] = []
    unpaired = 0
    for mark in _marks(text):
        if mark is None:
            opened.clear()
            continue
        if mark.sign not in _CLOSES:
            opened.append(mark)
            unpaired += 1
        elif opened and opened[-1].sign == _CLOSES[mark.sign]:
            first = opened.pop()
            pairs.append(_Span(first.at, mark.at + 1, first.begins_line, mark.ends_line))
            unpaired -= 1
        else:
            # A closing bracket without its partner: whatever is open around it cannot be JSON any more.
            opened.clear()
            unpaired += 1
        if unpaired > MOST_UNPAIRED:
            raise TooTangled("the output has too many brackets in it that are never closed")
    return sorted(pairs, key=lambda span: span.start)


def _marks(text: str) -> Iterator[_Mark | None]:
    """The brackets outside of quotes and fenced code; None where nothing can be paired across."""
    fence = ""
    fenced_in = 0
    containers: list[int] = []  # the columns at which the text of list items begins
    at = 0
    for raw in text.split("\n"):
        line, start = raw.rstrip(_SPACE), at
        at += len(raw) + 1
        indented = len(line) - len(line.lstrip(_SPACE))
        indent = _columns(line[:indented])
        if fence and line and indent < fenced_in:  # the list item ends, and its fence with it
            fence = ""
            yield None
        if fence:
            # As in CommonMark, a closing fence is indented by at most three columns and ends its line.
            closing = _FENCE.match(line)
            if (
                closing
                and indent <= fenced_in + 3
                and closing[1].startswith(fence)
                and not line[closing.end() :].strip(_SPACE)
            ):
                fence = ""
            continue
        while line and containers and indent < containers[-1]:
            containers.pop()
        item = _ITEM.match(line)
        if item:
            containers.append(_columns(item[0]))
        container = containers[-1] if containers else 0
        rest = line[item.end() :] if item else line
        # As in CommonMark, four columns of indentation make no fence, nor do backticks with another in their line.
        opening = _FENCE.match(rest)
        if (
            opening
            and (item or indent <= container + 3)
            and (opening[1][0] == "~" or "`" not in rest[opening.end() :])
        ):
            fence, fenced_in = opening[1], container
            yield None
            continue
        yield from _in_line(line, start, indented)


def _in_line(line: str, start: int, indented: int) -> Iterator[_Mark | None]:
    last = len(line) - 1
    column = 0
    while match := _MARKS.search(line, column):
        column = match.end()
        if match[0] != '"':
            place = match.start()
            yield _Mark(match[0], start + place, place == indented, place == last)
            continue
        quoted = _REST_OF_STRING.match(line, column)
        if quoted is None or quoted[1] is None:  # a quote that its line does not close
            yield None
            return
        column = quoted.end()


def _columns(text: str) -> int:
    """How wide a text is, with a tab every four columns."""
    return len(text.expandtabs(4))
