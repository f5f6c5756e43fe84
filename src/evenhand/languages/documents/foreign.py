"""Another tool's JSON, read field by field: what is missing is None, what is of the wrong kind is noted with its place.

An importer reads files that nobody here wrote. Nothing in them may be dropped without a word, and nothing in them may
end the import with a traceback.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, cast

from evenhand.core.encoding import decode, encode
from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_array, is_number, is_object, is_whole
from evenhand.core.record import Record
from evenhand.languages.documents.file_kinds import ending_hint, other_kind
from evenhand.languages.documents.findings import unreadable

NoteKind = Literal["translated", "changed", "left_out"]
"""Carried over · carried over, but not as it was · not carried over."""

MOST_TOKENS = 1 << 53  # beyond it, JavaScript's whole numbers are not exact
MOST_USD = 1e9  # as no price is higher: so that sums of costs stay numbers
LAST_SECOND = 253_402_300_799
"""The end of the year 9999."""
DEEPEST = 60
"""Levels of lists and objects that are looked into."""


class Note(Record, frozen=True):
    """What became of a part of a file.

    Attributes:
        kind: `translated`, `changed` or `left_out`.
        where: The file and the path inside it, of the first place.
        text: What, and why.
        more: How many other places it holds for.
    """

    kind: NoteKind
    where: str
    text: str
    more: int = 0


@dataclass(slots=True)
class Notes:
    """What became of the parts of some files. The same text at several places is one note."""

    _places: dict[tuple[NoteKind, str], list[str | int]] = field(
        default_factory=dict["tuple[NoteKind, str]", "list[str | int]"]
    )

    def add(self, kind: NoteKind, where: str, text: str) -> None:
        """Adds a note, or one more place of one that is there."""
        place = self._places.setdefault((kind, text), [where, -1])
        place[1] = cast("int", place[1]) + 1

    def left_out(self, where: str, text: str) -> None:
        """Something is not carried over."""
        self.add("left_out", where, text)

    def changed(self, where: str, text: str) -> None:
        """Something is carried over, but not as it was."""
        self.add("changed", where, text)

    def translated(self, where: str, text: str) -> None:
        """Something is carried over."""
        self.add("translated", where, text)

    def __iter__(self) -> Iterator[Note]:
        order = ("translated", "changed", "left_out")
        for kind in order:
            for (of, text), (where, more) in self._places.items():
                if of == kind:
                    yield Note(kind, str(where), text, cast("int", more))


@dataclass(frozen=True, slots=True)
class Part:
    """An object of a file, and where it stands.

    Attributes:
        where: `export.jsonl:3 $.data[0]`.
        notes: Where to say what is not as it should be.
    """

    value: Mapping[str, object]
    where: str
    notes: Notes = field(repr=False)

    def text(self, key: str) -> str:
        """A text; empty where there is none."""
        value = self.value.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        return self._wrong(key, value, "text") or ""

    def said(self, key: str) -> str:
        """What went wrong, on one line: a text, or anything else as JSON; empty where there is nothing."""
        value = self.value.get(key)
        if value is None or value is False:
            return ""
        return " ".join((value if isinstance(value, str) else encode(value).decode()).split())

    def number(self, key: str) -> float | None:
        """A finite number; None where there is none."""
        value = self.value.get(key)
        if value is None:
            return None
        if is_number(value):
            number = _finite(value)
            if number is not None:
                return number
        return self._wrong(key, value, "number")

    def amount(self, key: str) -> float | None:
        """A finite number from 0 up, such as seconds or dollars; None where there is none."""
        number = self.number(key)
        if number is None or number >= 0:
            return number
        return self._wrong(key, number, "number from 0 up")

    def whole(self, key: str) -> int | None:
        """A count from 0 to 2⁵³; None where there is none."""
        value = self.value.get(key)
        if value is None:
            return None
        # pandas writes counts as 12.0 where some of them are missing.
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if is_whole(value) and 0 <= value < MOST_TOKENS:
            return value
        return self._wrong(key, value, "count")

    def moment(self, key: str) -> float | None:
        """Seconds since 1970, to the year 9999; None where there are none."""
        number = self.number(key)
        if number is None or 0 <= number <= LAST_SECOND:
            return number
        return self._wrong(key, number, "number of seconds since 1970")

    def took(self, began: float | None, ended: float | None, end: str) -> float | None:
        """Seconds between two moments, the second from the key `end`; None where one is missing, or they can't be."""
        if began is None or ended is None:
            return None
        if ended < began:
            where = f"{self.where}.{end}"
            self.notes.left_out(where, "is before the start: how long it took is not known")
            return None
        return ended - began

    def truth(self, key: str) -> bool | None:
        """True or false; None where it is neither."""
        value = self.value.get(key)
        if value is None or isinstance(value, bool):
            return value
        return self._wrong(key, value, "true or false")

    def part(self, key: str) -> Part | None:
        """An object; None where there is none."""
        value = self.value.get(key)
        if value is None:
            return None
        if is_object(value):
            return Part(value, f"{self.where}.{key}", self.notes)
        return self._wrong(key, value, "object")

    def parts(self, key: str) -> list[Part]:
        """A list of objects; empty where there is none."""
        value = self.value.get(key)
        if value is None:
            return []
        if not is_array(value):
            self._wrong(key, value, "list")
            return []
        parts: list[Part] = []
        for i, item in enumerate(value):
            where = f"{self.where}.{key}[{i}]"
            if is_object(item):
                parts.append(Part(item, where, self.notes))
            else:
                self.notes.left_out(where, f"is {shown(item)}, not an object")
        return parts

    def texts(self, key: str) -> list[str]:
        """A list of texts; empty where there is none."""
        value = self.value.get(key)
        if value is None:
            return []
        if is_array(value):
            items = value
            if all(isinstance(item, str) for item in items):
                return cast("list[str]", items)
        self._wrong(key, value, "list of texts")
        return []

    def without(self, *keys: str) -> dict[str, object]:
        """All that is not under these keys, and is not null."""
        return {k: v for k, v in self.value.items() if k not in keys and v is not None}

    def _wrong(self, key: str, value: object, expected: str) -> None:
        article = (
            "" if expected.startswith("true") else "a " if expected[0] not in "aeiou" else "an "
        )
        self.notes.left_out(f"{self.where}.{key}", f"is {shown(value)}, not {article}{expected}")


def shown(value: object) -> str:
    """A value as a note quotes it: short, whatever it holds."""
    if isinstance(value, (dict, list)):
        many = len(value)
        return f"{'an object' if is_object(value) else 'a list'} of {many}"
    # Python refuses to write whole numbers of more than 4,300 digits.
    if is_whole(value) and value.bit_length() > 128:
        return "a number of more than 38 digits"
    text = repr(value) if isinstance(value, str) else str(value).lower()
    return text if len(text) <= 40 else f"{text[:39]}…"


def read_values(path: Path) -> list[tuple[str, object]]:
    """The JSON values of a file, each with where it stands: one of a JSON file, one for each line of a JSONL file.

    NaN and the infinities, which Python writes and JSON does not have, are the texts of their names.

    Raises:
        UsageError: The file cannot be read, or is not JSON.
    """
    data = read_bytes(path)
    kind = other_kind(path)
    if kind is not None:
        raise UsageError(f"{path} {kind[0]}", hint=kind[1])
    text = data.removeprefix(b"\xef\xbb\xbf").strip()
    if not text:
        raise UsageError(f"{path} is empty")
    try:
        return [(path.name, checked_value(_decoded(text)))]
    except ValueError as error:
        whole = error
    lines = [(i, line) for i, line in enumerate(data.splitlines(), 1) if line.strip()]
    if len(lines) < 2 or not _is_object(lines[0][1]):
        hint = ending_hint(path.suffix)
        raise UsageError(f"{path} is not JSON: {_why(whole)}", hint=hint) from None
    values: list[tuple[str, object]] = []
    for number, line in lines:
        try:
            values.append((f"{path.name}:{number}", checked_value(_decoded(line))))
        except ValueError as error:
            raise UsageError(f"{path}:{number} is not JSON: {_why(error)}") from None
    return values


def read_bytes(path: Path) -> bytes:
    """A file, whole.

    Raises:
        UsageError: It cannot be read.
    """
    problem = unreadable(path)
    if problem:
        raise UsageError(f"{path} {problem[0]}", hint=problem[1])
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error


def checked_value(value: object) -> object:
    """The value, if nothing would fail on it later.

    Raises:
        ValueError: It is nested too deeply, or holds a number that no float can hold.
    """
    level: list[object] = [value]
    for _ in range(DEEPEST):
        below: list[object] = []
        for one in level:
            if is_object(one):
                below += one.values()
            elif is_array(one):
                below += one
            elif isinstance(one, float) and not math.isfinite(one):
                msg = "it holds a number that is too large"
                raise ValueError(msg)
        if not below:
            return value
        level = below
    msg = f"it is nested more than {DEEPEST} levels deep"
    raise ValueError(msg)


def _decoded(data: bytes) -> object:
    try:
        return decode(data)
    except ValueError:
        if not any(name in data for name in (b"NaN", b"Infinity")):
            raise
    try:
        return cast("object", json.loads(data, parse_constant=str))
    except RecursionError:
        msg = "it is nested too deeply"
        raise ValueError(msg) from None


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(_decoded(line), dict)
    except ValueError:
        return False


def _why(error: ValueError) -> str:
    return " ".join(str(error).split())[:200]


def _finite(value: float) -> float | None:
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
