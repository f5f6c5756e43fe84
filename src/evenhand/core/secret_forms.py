r"""Where a secret stands in a text: as it is, escaped or encoded, also several times over.

How this works: JSON and addresses leave letters and digits as they are, and only write the other characters otherwise:
`"` as `\"`, `\\\"` or `%5C%22`, `ä` as `\u00e4` or `%C3%A4`. So a secret with such characters is found by one
expression that allows for each of them any number of escapes. Base64 changes all characters, and which ones they become
depends on what stands before the secret. So base64 isn't made but undone: each long run of its letters is decoded, from
each of the four places at which its first group may begin, and hidden as a whole if there is a secret in it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator

from evenhand.core.record import Record

DEPTH = 3
"""Base64 within base64 is undone this many times."""
WRAPPED = 40
"""Letters of base64's in a line from which on it may go on in the next: mail has 76, PEM 64."""
_AS_IT_IS = re.compile(r"[A-Za-z0-9_.~-]+")
"""What neither JSON nor an address writes otherwise."""
_ESCAPE = rb"(?:\\|%(?:25)*5[Cc])"
_AT_FIRST_ESCAPE = rb"(?<!\\)(?<!%5[Cc])(?<!255[Cc])"
"""Not within a run of escapes, which would be gone through again from each of them."""
_SPACES = (
    rb"(?:" + _ESCAPE + rb"++[nrt]|" + _ESCAPE + rb"*+(?:[ \t\r\n+]|u00(?:20|0[9aAdD])|%(?:25)*(?:20|0[9aAdD])))++"
)  # fmt: skip
_ESCAPED_SIGN = re.compile(_ESCAPE + rb"++(?:/|u002([bBfF]))|%(?:25)*+2([BbFf])")
"""`+` and `/` of base64, escaped."""
_BETWEEN = re.compile(
    _ESCAPED_SIGN.pattern + rb"|((?:" + _ESCAPE + rb"++[nrt]?|%(?:25)*[0-9A-Fa-f]{2}|[\\%\r\n])++)"
)
"""An escaped sign of base64, or in the last group what stands between its pieces: other escapes, ends of lines."""
_NEWLINE = re.compile(rb"\r?\n")
_MASK = bytes(
    b"a"[0]
    if byte in b"%+-/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ\\_abcdefghijklmnopqrstuvwxyz"
    else b" "[0]
    for byte in range(256)
)
_OF_ADDRESSES = bytes.maketrans(b"-_", b"+/")


class Finder:
    """Finds secrets in data, however they are written there.

    Args:
        secrets: The secrets. In those of several words or lines, any spaces stand between these.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # The longest come first, because one secret can be a part of another.
        ordered = sorted(set(secrets), key=lambda secret: (-len(secret), secret))
        self._forms = tuple(map(_form, ordered))
        shortest = min((len(secret.encode("utf-8", "replace")) for secret in ordered), default=0)
        # Base64 writes 3 bytes as 4 letters, so a shorter run holds no secret.
        self._fewest = b"a" * min(shortest * 4 // 3, WRAPPED)

    def without(self, data: bytes, hidden: bytes) -> bytes:
        """The data with `hidden` in place of each secret; the same object where there is none."""
        if not self._forms:
            return data
        for part, form in self._forms:
            if part in data and form.may_be_in(data):
                data = form.hidden_in(data, hidden)
        spans = [span for run in self._runs(data) for span in self._encoded(data, run, DEPTH)]
        if not spans:
            return data
        pieces: list[bytes] = []
        end = 0
        for start, stop in spans:
            pieces += (data[end:start], hidden)
            end = stop
        return b"".join((*pieces, data[end:]))

    def _among(self, data: bytes, depth: int) -> bool:
        for part, form in self._forms:
            if part in data and form.may_be_in(data) and form.is_in(data):
                return True
        return depth > 0 and any(self._encoded(data, run, depth) for run in self._runs(data))

    def _runs(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Where base64 of a secret may stand: enough of its signs, also escaped, in one line or wrapped."""
        mask = data.translate(_MASK)  # several times as fast as a regular expression
        start = mask.find(self._fewest)
        while start >= 0:
            line = start
            end = _end(mask, start)
            while end - line >= WRAPPED and (newline := _NEWLINE.match(data, end)):
                line = newline.end()
                end = _end(mask, line)
            yield start, end
            start = mask.find(self._fewest, end)

    def _encoded(self, data: bytes, run: tuple[int, int], depth: int) -> list[tuple[int, int]]:
        """Where in a run base64 has a secret in it: in one of its pieces, or else in all of them together."""
        spans = [span for span in _pieces(data, run) if span[0] < span[1]]
        long = [span for span in spans if span[1] - span[0] >= len(self._fewest)]
        single = [span for span in long if self._within(_signs(data, span), depth)]
        if single or len(spans) < 2:
            return single
        return [run] if self._within(b"".join(_signs(data, s) for s in spans), depth) else []

    def _within(self, text: bytes, depth: int) -> bool:
        letters = text.translate(_OF_ADDRESSES)
        return any(self._among(_decoded(letters[start:]), depth - 1) for start in range(4))


class _Form(Record, frozen=True):
    """One secret: the parts of it that stand unchanged wherever it is written, and what finds all of it."""

    parts: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None

    def may_be_in(self, data: bytes) -> bool:
        return all(part in data for part in self.parts)

    def is_in(self, data: bytes) -> bool:
        return self.pattern is None or self.pattern.search(data) is not None

    def hidden_in(self, data: bytes, hidden: bytes) -> bytes:
        if self.pattern is None:
            return data.replace(self.parts[0], hidden)
        return self.pattern.sub(lambda _: hidden, data)


def _end(mask: bytes, start: int) -> int:
    end = mask.find(b" ", start)
    return len(mask) if end < 0 else end


def _pieces(data: bytes, run: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The parts of a run between its ends of lines and other escapes that are no sign of base64's."""
    start, end = run
    for between in _BETWEEN.finditer(data, start, end):
        if between.group(3):
            yield start, between.start()
            start = between.end()
    yield start, end


def _signs(data: bytes, span: tuple[int, int]) -> bytes:
    return _ESCAPED_SIGN.sub(_sign, data[span[0] : span[1]])


def _sign(escaped: re.Match[bytes]) -> bytes:
    digit = escaped.group(1) or escaped.group(2)
    return b"+" if digit in {b"b", b"B"} else b"/"


def _decoded(letters: bytes) -> bytes:
    """What letters of base64's stand for; a last group of one letter is nothing."""
    whole = len(letters) - (len(letters) % 4 == 1)
    return base64.b64decode(letters[:whole] + b"=" * (-whole % 4))


def _form(secret: str) -> tuple[bytes, _Form]:
    """A secret, after the longest of its parts that stand unchanged wherever it is written."""
    parts = tuple(
        part.encode() for part in sorted(set(_AS_IT_IS.findall(secret)), key=lambda p: (-len(p), p))
    )
    if parts and parts[0] == secret.encode("utf-8", "surrogatepass"):
        return parts[0], _Form(parts=parts, pattern=None)
    words = _SPACES.join(
        b"".join(map(_characters, re.findall(r"\\+|[^\\]", word))) for word in secret.split()
    )
    start = b"" if _AS_IT_IS.match(secret) else _AT_FIRST_ESCAPE
    first = parts[0] if parts else b""
    return first, _Form(parts=parts, pattern=re.compile(start + words))


def _characters(text: str) -> bytes:
    """What a character, or a run of backslashes, may look like in JSON texts and addresses within each other."""
    if _AS_IT_IS.fullmatch(text):
        return re.escape(text.encode())
    if text[0] == "\\":
        return _ESCAPE + rb"++(?:u005[cC]" + _ESCAPE + rb"*+)*+"
    raw = text.encode("utf-8", "surrogatepass")
    units = text.encode("utf-16-be", "surrogatepass")
    hexadecimal = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
    escaped = (_ESCAPE + rb"*+").join(b"u" + _either_case(digits) for digits in hexadecimal)
    quoted = b"".join(rb"%(?:25)*" + _either_case(f"{byte:02x}") for byte in raw)
    return _ESCAPE + rb"*+(?:" + b"|".join((re.escape(raw), escaped, quoted)) + rb")"


def _either_case(digits: str) -> bytes:
    return "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits).encode()
