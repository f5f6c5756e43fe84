"""Questions about text: equal to, contains, starts with, matches. True or false, so they need no bound."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import msgspec

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.score import Score, check

CLIP = 60
_FOUND = check(True)


def text_of(output: object) -> str:
    """An output as text: text as it is, anything else as compact JSON."""
    return output if isinstance(output, str) else msgspec.json.encode(output).decode()


def quoted(text: str, limit: int = CLIP) -> str:
    """Text in quotes for a label, cut where it is long."""
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return '"' + text.replace("\n", "⏎") + '"'


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, True and 1 are not, order of keys does not count."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        mine, theirs = cast("Mapping[object, object]", one), cast("Mapping[object, object]", other)
        return mine.keys() == theirs.keys() and all(same(mine[k], theirs[k]) for k in mine)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        ours, others = cast("Sequence[object]", one), cast("Sequence[object]", other)
        return len(ours) == len(others) and all(same(a, b) for a, b in zip(ours, others, strict=True))
    return one == other


@dataclass(frozen=True, slots=True)
class Equals:
    """The output is exactly this text; or, where an object or a list is wanted, JSON that is equal to it.

    Nothing is trimmed and case counts.
    """

    wanted: object

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ANN401, ARG002
        if isinstance(self.wanted, (Mapping, list, tuple)):
            value: object = output
            if isinstance(output, str):
                try:
                    value = msgspec.json.decode(output)
                except msgspec.DecodeError:
                    return check(False, f"{quoted(output)} is not JSON")
            ok = same(value, self.wanted)
        else:
            ok = text_of(output) == self._text()
        return check(ok) if ok else check(False, f"got {quoted(text_of(output))}, wanted {quoted(self._text())}")

    def _text(self) -> str:
        return text_of(self.wanted)

    def __str__(self) -> str:
        return f"equals {quoted(self._text())}"


@dataclass(frozen=True, slots=True)
class Contains:
    """The output has this text somewhere in it."""

    wanted: str
    ignore_case: bool = False

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ANN401, ARG002
        if not self.wanted:
            raise ScoreError(
                "there is no text to look for: every output contains the empty text",
                hint="Leave the expectation out where nothing is expected.",
            )
        text = text_of(output)
        if self.ignore_case:
            return _found(self.wanted.lower() in text.lower(), text)
        return _found(self.wanted in text, text)

    def __str__(self) -> str:
        return f"{'icontains' if self.ignore_case else 'contains'} {quoted(self.wanted)}"


@dataclass(frozen=True, slots=True)
class ContainsAny:
    """The output has at least one of these texts in it. Of no texts it has none."""

    wanted: tuple[str, ...]
    ignore_case: bool = False

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ANN401, ARG002
        text = text_of(output).lower() if self.ignore_case else text_of(output)
        found = [w for w in self.wanted if (w.lower() if self.ignore_case else w) in text]
        return check(True, f"contains {quoted(found[0])}") if found else check(False, f"contains none of {_listed(self.wanted)}")

    def __str__(self) -> str:
        return f"{'icontains' if self.ignore_case else 'contains'}-any {_listed(self.wanted)}"


@dataclass(frozen=True, slots=True)
class ContainsAll:
    """The output has each of these texts in it. Of no texts it has all."""

    wanted: tuple[str, ...]
    ignore_case: bool = False

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ANN401, ARG002
        text = text_of(output).lower() if self.ignore_case else text_of(output)
        missing = [w for w in self.wanted if (w.lower() if self.ignore_case else w) not in text]
        return check(False, f"misses {_listed(missing)}") if missing else check(True, "contains all of them")

    def __str__(self) -> str:
        return f"{'icontains' if self.ignore_case else 'contains'}-all {_listed(self.wanted)}"


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The output begins with this text; case counts."""

    wanted: str

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ANN401, ARG002
        if not self.wanted:
            raise ScoreError("there is no text to begin with: every output begins with the empty text")
        text = text_of(output)
        return check(text.startswith(self.wanted), f"begins with {quoted(text[: len(self.wanted) + 20])}")

    def __str__(self) -> str:
        return f"starts-with {quoted(self.wanted)}"


@dataclass(frozen=True, slots=True)
class Matches:
    """The output has something in it that this pattern, a JavaScript regular expression, matches."""

    pattern: str

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ANN401, ARG002
        found = javascript_pattern(self.pattern).search(text_of(output))
        return check(found is not None, f"matches {quoted(found.group())}" if found else f"nothing in {quoted(text_of(output))} matches")

    def __str__(self) -> str:
        return f"regex {quoted(self.pattern)}"


_PARTS = re.compile(
    r"""
    (?P<escape>\\(?:u\{(?P<point>[0-9a-fA-F]+)\}|k<(?P<back>\w+)>|.))
  | (?P<inline>\(\?[a-zA-Z-]+[:)])
  | (?P<group>\(\?<(?![=!]))
  | (?P<class>\[\^?)
  | (?P<end>\])
  | (?P<dollar>\$)
    """,
    re.VERBOSE | re.DOTALL,
)
_LETTERS = frozenset("bBdDsSwWtnrvfxuc0123456789pP")
_SPACE = " \\t\\n\\v\\f\\r\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"


@lru_cache(maxsize=1024)
def javascript_pattern(pattern: str) -> re.Pattern[str]:
    """A JavaScript regular expression, without flags, as one of Python's that matches the same.

    What differs: `$` is the very end, `\\d` and `\\w` are ASCII while `\\s` is not, named groups are written `(?<name>`,
    letters may be escaped for no reason, and there are no inline flags.

    Raises:
        ScoreError: It is not a regular expression.
    """
    inside = False

    def respelt(match: re.Match[str]) -> str:
        nonlocal inside
        text = match.group()
        if match["escape"]:
            if match["point"]:
                return re.escape(chr(int(match["point"], 16)))
            if match["back"]:
                return f"(?P={match['back']})"
            if text == "\\s":
                return _SPACE if inside else f"[{_SPACE}]"
            if text == "\\S" and not inside:
                return f"[^{_SPACE}]"
            return text if not text[1].isalnum() or text[1] in _LETTERS else text[1]
        if inside:
            inside = not match["end"]
            return "\\[" if match["class"] == "[" else text
        if match["inline"]:
            raise ScoreError(
                f"'{pattern}' is not a regular expression: there are no inline flags such as {text}",
                hint="For either case write [aA], or use icontains.",
            )
        if match["group"]:
            return "(?P<"
        if match["class"]:
            inside = True
        return "\\Z" if match["dollar"] else text

    try:
        return re.compile(_PARTS.sub(respelt, pattern.replace("[^]", "[\\s\\S]")), re.ASCII)
    except (re.error, OverflowError) as error:
        raise ScoreError(f"'{pattern}' is not a regular expression: {error}") from None


def _found(ok: bool, text: str) -> Score:
    return _FOUND if ok else check(False, f"not in {quoted(text)}")


def _listed(texts: Sequence[str]) -> str:
    return quoted(", ".join(texts))
