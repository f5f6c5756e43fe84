"""Questions about text: equal to, contains, starts with, matches. True or false, so they need no bound."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import force_setattr

from evenhand.core.arguments import CheckedRecord
from evenhand.core.encoding import decode, plain
from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_mapping
from evenhand.core.outputs import need_value, not_json
from evenhand.core.record import Record
from evenhand.core.score import Score, check
from evenhand.core.traits import Traits
from evenhand.scorers.constructor_checks import NOTHING_EXPECTED, need_text, texts
from evenhand.scorers.javascript_regex import javascript_pattern, needs_care, search_apart
from evenhand.scorers.opposite import Question

CLIP = 60
_CONTAINED = check(True)


def text_of(output: object) -> str:
    """An output as the text that is graded: text as it is, another value of JSON as its JSON, as `value_text` has it.

    Raises:
        ScoreError: There is none; see `graded`.
    """
    value = graded(output)
    try:
        return value_text(value)
    except (TypeError, ValueError) as error:  # a key that is no text
        raise not_json(output, error) from error


def graded(output: object) -> object:
    """An output as the value that is graded: a text, or a number, a bool, a list or a dict.

    What says by `as_text()` how it reads, as a reply and a conversation do, is taken at its word.

    Raises:
        ScoreError: There is none: it is None, NaN, an SDK's object, a stream that was not read.
    """
    if isinstance(output, str):
        return output
    reads = getattr(type(output), "as_text", None)
    if reads is not None:
        return str(reads(output))
    need_value(output)
    return output


def value_text(value: object) -> str:
    """Any value as text: text as it is, anything else as compact JSON, with 1 for 1.0 as JavaScript has it.

    Raises:
        TypeError: It holds something that JSON has no form for.
    """
    if isinstance(value, str):
        return str.__str__(value)  # the text itself, however a member of an enum prints itself
    text = _json(value)
    # Most values have no whole float in them, and are written once.
    return _json(_whole(value)) if ".0" in text else text


def _json(value: object) -> str:
    try:
        return msgspec.json.encode(value, enc_hook=plain).decode()
    except UnicodeEncodeError:  # half a character, as a model's broken emoji leaves it
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _whole(value: object) -> object:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    if is_mapping(value):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_whole(item) for item in value]
    return value


def quoted(text: str, limit: int = CLIP) -> str:
    """Text in quotes for a label, cut where it is long."""
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return '"' + text.replace("\n", "⏎") + '"'


def same(one: object, other: object) -> bool:
    """Whether two JSON values are equal: 1 and 1.0 are, True and 1 are not, order of keys does not count."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_mapping(one) and is_mapping(other):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return one == other


class Equals(Question, Record, frozen=True, metaclass=CheckedRecord):
    """The output is exactly this text; or, where an object or a list is wanted, JSON that is equal to it.

    Nothing is trimmed and case counts.
    """

    traits: ClassVar[Traits] = Traits(gives="verdict")
    wanted: object

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        expected = value_text(self.wanted)
        if isinstance(self.wanted, (Mapping, list, tuple)):
            value = graded(output)
            if isinstance(value, str):
                try:
                    value = decode(value)
                except ValueError:
                    return check(False, f"{quoted(value)} is not JSON")
            ok = same(value, self.wanted)
        else:
            ok = text_of(output) == expected
        if ok:
            return check(True)
        return check(False, f"got {quoted(text_of(output))}, wanted {quoted(expected)}")

    def __str__(self) -> str:
        return f"equals {quoted(value_text(self.wanted))}"


class Contains(Question, Record, frozen=True, metaclass=CheckedRecord):
    """The output has this text somewhere in it. A dict or a list is read as its JSON, keys included."""

    traits: ClassVar[Traits] = Traits(gives="verdict")
    wanted: str
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.wanted, str):  # pyright: ignore[reportUnnecessaryIsInstance] (a user may not type-check)
            several = type(self.wanted) in (list, tuple)
            hint = "Write ContainsAny([…]) or ContainsAll([…])." if several else ""
            need_text("Contains", "the text", self.wanted, hint)

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        if not self.wanted:
            raise ScoreError(
                "there is no text to look for: every output contains the empty text",
                hint=NOTHING_EXPECTED,
            )
        text = text_of(output)
        if self.ignore_case:
            return _containment(self.wanted.lower() in text.lower(), text)
        return _containment(self.wanted in text, text)

    def __str__(self) -> str:
        return f"{'icontains' if self.ignore_case else 'contains'} {quoted(self.wanted)}"


class _ContainsSeveral(Question, Record, frozen=True, metaclass=CheckedRecord):
    traits: ClassVar[Traits] = Traits(gives="verdict")
    _which: ClassVar[str]
    wanted: Sequence[str]
    ignore_case: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "wanted", texts(type(self).__name__, self.wanted))

    def _present(self, output: object) -> list[str]:
        text = text_of(output).lower() if self.ignore_case else text_of(output)
        return [w for w in self.wanted if (w.lower() if self.ignore_case else w) in text]

    def __str__(self) -> str:
        begin = "icontains" if self.ignore_case else "contains"
        return f"{begin}-{self._which} {_listed(self.wanted)}"


class ContainsAny(_ContainsSeveral, frozen=True):
    """The output has at least one of these texts in it. Of no texts it has none."""

    _which: ClassVar[str] = "any"

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        present = self._present(output)
        if present:
            return check(True, f"contains {quoted(present[0])}")
        return check(False, f"contains none of {_listed(self.wanted)}")


class ContainsAll(_ContainsSeveral, frozen=True):
    """The output has each of these texts in it. Of no texts it has all."""

    _which: ClassVar[str] = "all"

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        present = self._present(output)
        missing = [text for text in self.wanted if text not in present]
        if missing:
            return check(False, f"misses {_listed(missing)}")
        return check(True, "contains all of them")


class StartsWith(Question, Record, frozen=True, metaclass=CheckedRecord):
    """The output begins with this text; case counts."""

    traits: ClassVar[Traits] = Traits(gives="verdict")
    wanted: str

    def __post_init__(self) -> None:
        need_text("StartsWith", "the text", self.wanted)

    def score(self, output: Any, trial: Trial | None = None) -> Score:  # noqa: ARG002 (the Protocol's)
        if not self.wanted:
            raise ScoreError(
                "there isn't text to begin with: every output begins with the empty text"
            )
        text = text_of(output)
        return check(
            text.startswith(self.wanted), f"begins with {quoted(text[: len(self.wanted) + 20])}"
        )

    def __str__(self) -> str:
        return f"starts-with {quoted(self.wanted)}"


class Matches(Question, Record, frozen=True, metaclass=CheckedRecord):
    """The output has something in it that this pattern, a JavaScript regular expression, matches."""

    traits: ClassVar[Traits] = Traits(gives="verdict")
    pattern: str

    def __post_init__(self) -> None:
        need_text("Matches", "the pattern", self.pattern)

    def score(self, output: Any, trial: Trial | None = None) -> Score | Awaitable[Score]:
        text = text_of(output)
        pattern = javascript_pattern(self.pattern)
        if trial is not None and needs_care(self.pattern, text):
            return self._apart(pattern.pattern, text, trial)
        match = pattern.search(text)
        return _matched(match.span() if match else None, text)

    async def _apart(self, pattern: str, text: str, trial: Trial) -> Score:
        span = await trial.call(search_apart, pattern, text, name=str(self))
        if isinstance(span, str):
            raise ScoreError(
                f"{self} {span}",
                hint="A repeat inside a repeat can take forever: write the pattern without one, e.g. a+ for (a+)+.",
            )
        return _matched(span, text)

    def __str__(self) -> str:
        return f"regex {quoted(self.pattern)}"


def _containment(ok: bool, text: str) -> Score:
    return _CONTAINED if ok else check(False, f"not in {quoted(text)}")


def _matched(span: tuple[int, int] | None, text: str) -> Score:
    if span is None:
        return check(False, f"no match in {quoted(text)}")
    return check(True, f"matches {quoted(text[span[0] : span[1]])}")


def _listed(texts: Sequence[str]) -> str:
    return quoted(", ".join(texts))
