"""A text in sentences, in any script, found by code: what a judge is asked about is numbered before it is asked.

How this works: one pass over the marks that can end a sentence. Full-width and other scripts' marks (。！？ । ۔ ؟ ።)
end one wherever they stand; `.`, `!`, `?` and `…` only before a space, and a full stop not after an abbreviation, an
initial, or before a small letter. Blank lines and list items end one, too. What has no marks at all, as Thai, is cut at
a space when it grows long. Linear in the text, whatever it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 1000
"""A sentence longer than this is cut at a space, or where there is none."""

_MARK = re.compile(
    r"(?P<stop>[.!?…。！？｡．؟۔।॥։።፧။།]+[\"'”’»)\]」』）】》]*)|(?P<line>\n\s*)", re.UNICODE
)
_ANYWHERE = frozenset("。！？｡．؟۔।॥։።፧။།")
_BULLET = re.compile(r"(?:[-*•‣◦–#>|]|\d{1,3}[.)])\s")
_WORD = re.compile(r"[\w.]*\Z")
_SHORT = frozenset(
    "al approx bzw ca cf co corp dept dr e.g ed eds eq etc fig figs gen gov hon i.e inc jr lt ltd mr mrs ms nr op "
    "p.ex pp prof rev sr st u.a usw vol vs z.b".split()
)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order, without the space around them. Of an empty text there are none.

    >>> sentences("Dr. Lee measured 3.5 m. It was enough! 是的。好。")
    ('Dr. Lee measured 3.5 m.', 'It was enough!', '是的。', '好。')
    """
    return tuple(piece for start, end in _spans(text) for piece in _cut(text[start:end].strip()))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _MARK.finditer(text):
        end = match.end()
        ends = _line_ends(text, match) if match["line"] is not None else _stop_ends(text, match)
        if ends:
            yield start, end
            start = end
    yield start, len(text)


def _line_ends(text: str, match: re.Match[str]) -> bool:
    return match["line"].count("\n") > 1 or _BULLET.match(text, match.end()) is not None


def _stop_ends(text: str, match: re.Match[str]) -> bool:
    marks, end = match["stop"], match.end()
    if not _ANYWHERE.isdisjoint(marks):
        return True
    if end < len(text) and not text[end].isspace():
        return False
    if marks != ".":
        return True
    # A bounded slice, as copying the rest of the text at every stop would take quadratic time.
    after = text[end : end + 40].lstrip()
    if after[:1].islower():
        return False
    word = _WORD.search(text[max(0, match.start() - 20) : match.start()])
    before = word[0] if word else ""
    initial = len(before) == 1 and before.isupper()
    counted = before.isdecimal() and _opens_line(text, match)
    return not (before.lower() in _SHORT or (initial and bool(after)) or counted)


def _opens_line(text: str, match: re.Match[str]) -> bool:
    """Whether the number before the stop is the first on its line: `2. Then …` is an item, not a sentence."""
    at = match.start()
    begin = text.rfind("\n", max(0, at - 20), at) + 1 or max(0, at - 20)
    return (begin == 0 or text[begin - 1] == "\n") and text[begin:at].strip().isdecimal()


def _cut(text: str) -> Iterator[str]:
    while len(text) > LONGEST:
        # Not in the first half, so that no cut leaves a scrap of a few words.
        at = text.rfind(" ", LONGEST // 2, LONGEST)
        at = at if at > 0 else LONGEST
        yield text[:at].strip()
        text = text[at:].strip()
    if any(char.isalnum() for char in text):
        yield text


def letters(text: str) -> int:
    """How much text this is, in letters and digits: alike for scripts with spaces between words and without."""
    return sum(map(str.isalnum, text))
