"""How numbers and foreign text are written, in one place.

Text from models, datasets and judges may hold terminal escapes, control characters, marks that turn the direction of
writing, or commands to the CI host that reads a job's log. `safe` shows them instead of obeying them, wherever it runs:
who reads a log later is not known to whoever prints. `put` looks at lines once more, as wrapping makes new ones.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TextIO

from evenhand.core.run import SHORT_ID, Totals

# C0 and C1 controls without tab and line feed, marks of direction, characters that nobody sees, tags, lone surrogates.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f\ud800-\udfff]"
)
_WORDS = re.compile(r"( *)((?:[^ ]| +%)+)")
"""Words with the spaces before them; `75 %` is one."""
_HEADINGS = r"^[-+~^](?=([-+~^])\1[ \t])"
_GITHUB = r":(?=:[\w-])(?!:[\da-f]{1,4}(?::[\da-f]{1,4})*(?![\w:-]))"
"""The first colon of `::x`, but not of an IPv6 address such as `::1`, which is no command."""
_COMMAND = re.compile(
    rf"(?<!\S){_GITHUB}|#(?=#(?:\[|vso\[|teamcity\[))|{_HEADINGS}", re.IGNORECASE | re.MULTILINE
)
"""What the log of a CI job obeys: `::x` of GitHub, `##[x]` of GitHub and Azure, `##vso[x]`, `##teamcity[x]`, and the
headings of Buildkite. The marks of GitLab and Travis need an escape or a carriage return, which are shown anyway.
"""
_LINE_OF_COMMAND = re.compile(
    rf"(?:(?<=\n)|\A)(\s*)({_GITHUB}|#(?=#(?:\[|vso\[|teamcity\[)))|{_HEADINGS.replace('1', '3')}",
    re.IGNORECASE | re.MULTILINE,
)
_PLAIN = str.maketrans(
    {
        "·": "-",
        "×": "x",
        "–": "-",
        "…": "...",
        "✓": "+",
        "✗": "x",
        "━": "#",
        "╌": "-",
        "→": "->",
        "≥": ">=",
        "“": '"',
        "”": '"',
    }
)


def safe(text: str, *, multiline: bool = False) -> str:
    """Foreign text, fit to be printed: what would steer a terminal or a CI host is shown as an escape.

    Args:
        text: Whatever a model, a judge, a dataset or a user's file says.
        multiline: Keeps line breaks and tabs; otherwise everything is put on one line.
    """
    # At the end of a line a carriage return is harmless; anywhere else it is shown, as it moves the cursor.
    text = text.replace("\r\n", "\n")
    if not multiline:
        text = " ".join(text.split())
    return _COMMAND.sub(_shown, _UNSAFE.sub(_shown, text))


def without_commands(text: str) -> str:
    r"""A text in which no line begins with a command to a CI host.

    >>> print(without_commands("::error::x"))
    \x3a:error::x
    """
    return _LINE_OF_COMMAND.sub(lambda m: (m[1] or "") + _escape((m[2] or m[0])[0]), text)


def columns(text: str) -> int:
    """How many columns of a terminal a text takes: two for wide characters, none for marks on others."""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(maxsize=4096)
def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def in_one_line(text: str) -> str:
    r"""A message and what to do about it, which have lines of their own, as sentences in one line.

    >>> in_one_line("there is no baseline x.evn\n  Make one.")
    'there is no baseline x.evn. Make one.'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ends = [line if line[-1] in ".:;,!?…" else f"{line}." for line in lines[:-1]]
    return " ".join((*ends, *lines[-1:]))


def clip(text: str, width: int) -> str:
    """Text cut to so many columns, with an ellipsis where something is missing."""
    if _fitting(text, width) == len(text):
        return text
    return _beginning(text, width - 1).rstrip() + "…"


def _beginning(text: str, width: int) -> str:
    """As much of a text as so many columns hold."""
    start = text[: max(0, width)]
    return start[: _fitting(start, width)]


def _fitting(text: str, width: int) -> int:
    """How many characters of a text so many columns hold; what is beyond them is not looked at."""
    if text.isascii():
        return min(len(text), max(0, width))
    taken = 0
    for place, character in enumerate(text):
        taken += _columns_of(character)
        if taken > width:
            return place
    return len(text)


def padded(text: str, width: int) -> str:
    """Text filled up with spaces to so many columns."""
    return text + " " * (width - columns(text))


def folded(
    text: str,
    width: int,
    first: str = "",
    rest: str | None = None,
    *,
    whole: bool = False,
    names: Iterable[str] = (),
) -> list[str]:
    """Text in lines of at most so many columns. A number stays with its `%`, and an interval in one piece.

    What stands between two ` · `, or in brackets, stays in one piece where it takes at most half a line.

    >>> folded("passed 75 % [61–86] of 40", 14, "- ", "  ")
    ['- passed 75 %', '  [61–86] of', '  40']
    >>> folded("12 calls · price unknown · 919 ms", 32)
    ['12 calls · price unknown ·', '919 ms']
    >>> folded("moved by -4 [-11, +3] · 12 calls", 18)
    ['moved by -4', '[-11, +3] ·', '12 calls']
    >>> folded("never better than desk · strict", 27, names=["desk · strict"])
    ['never better than', 'desk · strict']

    Args:
        text: One line; the spaces that it begins with stay.
        width: How many columns there are.
        first: What the first line begins with.
        rest: What the others begin with; as the first by default.
        whole: Leaves a word that is longer than a line in one piece, to be copied: a path.
        names: What stays in one piece wherever a line holds it, whatever its characters.
    """
    rest = first if rest is None else rest
    lines: list[str] = []
    line = first
    text = text.rstrip()
    if columns(first) + columns(text) <= width:
        return [first + text]
    room = width - columns(rest)
    text = _held_together(text, room, names)
    for gap, word in _pieces(text, room // 2):
        if columns(line) + len(gap) + columns(word) <= width:
            line += gap + word
            continue
        left = width - columns(line) - len(gap)
        endless = not whole and columns(word) > room
        if endless and left >= _PIECE and line.strip():  # as texts without spaces are
            piece = _broken(word, left)
            lines.append(line + gap + piece)
            line, word = rest, word[len(piece) :]  # noqa: PLW2901 (what is left of it)
        elif line.strip():
            lines.append(line.rstrip())
            line = rest
        while not whole and columns(line) + columns(word) > width:
            piece = _broken(word, width - columns(line))
            lines.append(line + piece)
            line, word = rest, word[len(piece) :]  # noqa: PLW2901 (what is left of it)
        line += word
    if line.strip() or not lines:
        lines.append(line)
    return [each.replace(_HELD, " ") for each in lines]


def _held_together(text: str, room: int, names: Iterable[str]) -> str:
    """The text with another character for each space inside a name or short brackets."""
    for name in sorted(names, key=len, reverse=True):
        if " " in name and columns(name) <= room:
            text = text.replace(name, name.replace(" ", _HELD))
    text = _INTERVALS.sub(
        lambda m: m[0].replace(" ", _HELD) if columns(m[0]) <= room else m[0], text
    )
    return _BRACKETS.sub(
        lambda m: m[0].replace(" ", _HELD) if columns(m[0]) <= room // 2 else m[0], text
    )


def _pieces(text: str, most: int) -> Iterator[tuple[str, str]]:
    """What is not divided, with the spaces before it: words, and in a list, its parts and theirs that are short."""
    if _SEPARATOR not in text:
        yield from _WORDS.findall(text)
        return
    for part in _PARTS.findall(text):
        shorter = [part] if columns(part) <= most else _CLAUSES.findall(part)
        for one in shorter:
            bare = one.lstrip()
            if columns(bare) <= most:
                yield one[: len(one) - len(bare)], bare
            else:
                yield from _WORDS.findall(one)


_SEPARATOR = " · "
_HELD = "\0"
"""A space at which no line ends, while a text is folded; `safe` leaves none of these in a foreign text."""
_INTERVALS = re.compile(r"\[[-+−$]*[\d.∞][^\[\]]*\]")
_BRACKETS = re.compile(r"\([^()]+\)")
_PARTS = re.compile(r".+?(?: ·(?= )|$)")
_CLAUSES = re.compile(r".+?(?:,(?= )|$)")
_PIECE = 12
"""So much of a word that no line can hold is put at the end of one, at least."""


def _broken(word: str, width: int) -> str:
    """The beginning of a word that has no room: up to a mark that names have between their parts, if there is one."""
    piece = _beginning(word, width) or word[:1]
    for marks in (":/", "_-"):
        end = max(map(piece.rfind, marks)) + 1
        if columns(piece[:end]) >= _PIECE:
            return piece[:end]
    return piece


def rounded(value: float, digits: int = 0, *, sign: bool = False) -> str:
    """A number in so many digits after the point, halves rounded up: one rounding for all that is shown.

    What floats leave of a half counts as a half: 177 of 200 is 88.5 %, and not less. The page does the same.

    >>> rounded(88.5), rounded(0.885, 2), rounded(1.005, 2), rounded(-2.5), rounded(0.1, 1, sign=True)
    ('89', '0.89', '1.01', '-3', '+0.1')
    """
    if not math.isfinite(value):
        return f"{value:{'+' if sign else ''}}"
    if abs(value) >= _WITHOUT_FRACTIONS:
        return f"{value:{'+' if sign else ''}.{digits}f}"
    significant, exponent = f"{abs(value):.11e}".split("e")
    whole = math.floor(float(f"{significant}e{int(exponent) + digits}") + 0.5)
    return f"{math.copysign(whole / 10**digits, value):{'+' if sign else ''}.{digits}f}"


_WITHOUT_FRACTIONS = 2.0**53
"""Floats from here on are whole numbers."""
RESIDUE = 1e-12
"""What is left of nothing where floats are added."""


def unlike_whole(value: float, digits: int) -> str:
    """A number in so many digits after the point, or in as many as it takes to show that it isn't whole, if it isn't.

    >>> unlike_whole(0.9996, 3), unlike_whole(0.0002, 3), unlike_whole(1 - 1e-14, 3), unlike_whole(-1e-17, 2)
    ('0.9996', '0.0002', '1.000', '0.00')
    """
    if not math.isfinite(value):
        return rounded(value, digits)
    whole = round(value)
    if abs(value - whole) < RESIDUE * max(1, abs(value)):
        return rounded(whole, digits)
    texts = (rounded(value, after) for after in range(digits, 13))
    return next((text for text in texts if not float(text).is_integer()), rounded(value, digits))


def money(usd: float | None) -> str:
    """US dollars, in as many digits as say something; `unknown` for None.

    >>> money(0.00123), money(0.0000123), money(2.5), money(None)
    ('$0.0012', '$0.000012', '$2.50', 'unknown')
    """
    if usd is None:
        return "unknown"
    if usd == 0:
        return "$0"
    if abs(usd) >= 1:
        return f"${usd:,.2f}"
    digits = 4 if abs(usd) >= 0.0001 else 1 - math.floor(math.log10(abs(usd)))
    return f"${usd:.{digits}f}"


def paid(usd: float | None, *, scripted: bool, calls: int | None = None) -> str:
    """What was paid, for a cell of a table: replies of a script (`--offline`) have no price. The page says it alike.

    >>> paid(0.00123, scripted=False), paid(None, scripted=False), paid(None, scripted=True)
    ('$0.0012', 'unknown', 'scripted')
    >>> paid(0.0, scripted=False, calls=0)
    '–'

    Args:
        calls: How many recorded calls it paid for: of none, nothing is known; None where they are not counted.
    """
    if usd is None:
        return "scripted" if scripted else "unknown"
    return "–" if usd == 0 and calls == 0 else money(usd)


def spent(usd: float | None, *, scripted: bool) -> str:
    """What was paid, in a list of facts; see `paid`.

    >>> spent(0.00123, scripted=False), spent(None, scripted=False), spent(None, scripted=True)
    ('$0.0012 spent', 'cost unknown', 'replies scripted')
    >>> spent(0.0, scripted=False), spent(0.0, scripted=True)
    ('$0 spent', 'replies scripted')
    """
    if scripted and not usd:
        return "replies scripted"
    return "cost unknown" if usd is None else f"{money(usd)} spent"


def priced(usd: float | None, *, scripted: bool, bound: str = "about") -> str:
    """What calls would cost, in a list of facts; see `paid`. Of a script's, what they would cost from models.

    >>> priced(0.00123, scripted=False), priced(None, scripted=False), priced(None, scripted=True)
    ('about $0.0012', 'price unknown', 'replies scripted')
    >>> priced(0.00123, scripted=True)
    'replies scripted (from models about $0.0012)'
    """
    price = "" if usd is None else f"{bound} {money(usd)}"
    if scripted:
        return f"replies scripted (from models {price})" if usd else "replies scripted"
    return price or "price unknown"


def percent(share: float, digits: int = 0) -> str:
    """A share as a percentage, whole as a rule, never rounded to all or nothing when it is not.

    >>> percent(7 / 8), percent(0.999), percent(0.0001), percent(1 - 1e-16), percent(0.9996, 1)
    ('88 %', '99 %', '1 %', '100 %', '99.96 %')
    """
    for whole in (0, 1):
        if abs(share - whole) < RESIDUE:
            return f"{whole * 100} %"
    texts = (rounded(share * 100, after) for after in range(digits, 17 if digits else 1))
    # More digits where there are some; a whole percentage is the nearest one that is neither.
    text = next((text for text in texts if float(text) not in (0, 100)), "")
    return f"{text or ('99' if share > 0.5 else '1')} %"


def percents(least: float, most: float, digits: int = 0) -> str:
    """A share that errors may leave open, as a percentage, or as the two between which it lies.

    >>> percents(7 / 8, 7 / 8), percents(0.5, 0.9), percents(0.901, 0.902)
    ('88 %', '50–90 %', '90 %')
    """
    low, high = percent(least, digits), percent(most, digits)
    return high if low == high else f"{low.removesuffix(' %')}–{high}"


def passed_of(totals: Totals) -> str:
    """How many trials passed, of those that count: an error may have been a pass, what did not apply could not."""
    return f"{totals.passed:,} of {counting(totals):,} passed"


def outcomes_of(totals: Totals, planned: int) -> list[str]:
    """How many trials passed, and how many of those that were planned came to no verdict, by why.

    >>> outcomes_of(Totals(trials=3, passed=1, failed=1, errors=1), 4)
    ['1 of 3 passed', '1 error', '1 not run']
    """
    parts = [passed_of(totals)]
    if totals.errors:
        parts.append(count(totals.errors, "error"))
    if totals.not_applicable:
        parts.append(f"{totals.not_applicable:,} not applicable")
    if planned > totals.trials:
        parts.append(f"{planned - totals.trials:,} not run")
    return parts


def calls_of(calls: int, cached: int) -> str:
    """How many calls there were, and how many of them were answered without being sent.

    >>> calls_of(20, 1), calls_of(1, 0)
    ('20 calls, 1 replayed', '1 call')
    """
    return count(calls, "call") + (f", {cached:,} replayed" if cached else "")


def counting(totals: Totals) -> int:
    """How many trials are in a pass rate: those that passed, failed or are in error."""
    return totals.passed + totals.failed + totals.errors


def points(share: float, digits: int = 0) -> str:
    """A difference of shares in percentage points, with its sign; nothing has none, and nothing else is written as 0.

    >>> points(-0.19), points(0.004), points(1e-4, 1), points(1 / 3 + 2 / 3 - 1 - 1e-17)
    ('-19', '+0.4', '+0.01', '0')
    """
    if abs(share) < 1e-9:
        return "0"
    texts = (rounded(share * 100, after, sign=True) for after in range(digits, 10))
    return next(text for text in texts if float(text))


def in_points(number: str) -> str:
    """A number of percentage points with its noun.

    >>> in_points("+1"), in_points("-1 to +1"), in_points("0.5")
    ('+1 point', '-1 to +1 points', '0.5 points')
    """
    return f"{number} {'point' if number.lstrip('+-±') == '1' else 'points'}"


def share_words(least: float, most: float, low: float, high: float) -> str:
    """A share with its interval, as percentages.

    >>> share_words(7 / 8, 7 / 8, 0.529, 0.978), share_words(0.999, 0.999, 0.9943, 0.9998)
    ('88 % [53–98]', '99.9 % [99.4–100.0]')
    """
    return f"{share_within(least, most, low, high)} [{interval(low, high)}]"


def share_within(least: float, most: float, low: float, high: float) -> str:
    """A share beside its interval, in as many digits: with fewer it could lie outside of it."""
    return percents(least, most, digits_within(low, high))


def interval(low: float, high: float) -> str:
    """An interval of shares as percentages, with a digit more where it is narrow; never rounded to certainty.

    >>> interval(0.529, 0.978), interval(0.7901, 0.8058), interval(0.9996, 1)
    ('53–98', '79.0–80.6', '99.9–100')
    """
    digits = digits_within(low, high)
    start, end = rounded(low * 100, digits), rounded(high * 100, digits)
    if float(start) >= 100 and low < 1:
        start = "99.9"
    if float(end) <= 0 and high > 0:
        end = "0.1"
    if high >= 1:
        end = "100"
    return f"{'0' if low <= 0 else start}–{end}"


def digits_within(low: float, high: float) -> int:
    """How many digits after the point of a percentage an interval can tell apart."""
    return 0 if high - low >= 0.02 else 1


def seconds(value: float | None) -> str:
    """A duration; `–` for None, and for what cannot be one, as the clock was set back meanwhile.

    >>> seconds(0.0123), seconds(1.25), seconds(75), seconds(3700)
    ('12 ms', '1.2 s', '1:15', '1:01:40')
    """
    if value is None or value < 0:
        return "–"
    # From here on it would be rounded to 1000 ms, and in the next line from 59.95 on to 60.0 s.
    if value < 0.9995:
        return f"{value * 1000:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number(value: float) -> str:
    """A score, in at most four digits that count."""
    return f"{value:.4g}"


def count(number_: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 trial`, `1,204 trials`."""
    return f"{number_:,} {noun if number_ == 1 else plural or noun + 's'}"


def p_value(p: float) -> str:
    """A p-value for people.

    >>> p_value(0.00641), p_value(0.00001), p_value(0.9998), p_value(1)
    ('p = 0.006', 'p < 0.001', 'p > 0.999', 'p = 1')
    """
    if p < 0.001:
        return "p < 0.001"
    return "p = 1" if p == 1 else "p > 0.999" if p > 0.9994 else f"p = {p:.3f}"


def tokens(tokens_in: int, tokens_out: int) -> str:
    """How many tokens went in and came out."""
    return f"{tokens_in:,} → {tokens_out:,} tokens"


def near(path: str | Path) -> str:
    """A path as people would write it from where they stand; whole where that is two folders up or further."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("../..") else relative


def short_id(run_id: str) -> str:
    """The start of a run's id, to be read; for what is to be typed see `run_lookup.called`."""
    return run_id[:SHORT_ID]


def put(out: TextIO, text: str, *, commands: bool = False) -> None:
    """Writes a text, on a stream that cannot write all of its characters with plainer ones in their place.

    Args:
        commands: It is one to a CI host, and of our making.
    """
    if not commands:
        text = without_commands(text)
    try:
        out.write(text)
    except UnicodeEncodeError:
        out.write(plainer(text, out.encoding or "ascii"))


def plainer(text: str, coding: str) -> str:
    """A text in the characters of an encoding: plainer ones, or escapes, in place of what it hasn't."""
    return text.translate(_PLAIN).encode(coding, "backslashreplace").decode(coding)


def put_quietly(out: TextIO, text: str) -> None:
    """Writes a text at once; trouble with the stream is nobody's trouble."""
    with contextlib.suppress(OSError, ValueError):
        put(out, text)
        out.flush()


def _shown(match: re.Match[str]) -> str:
    return _escape(match.group())


def _escape(character: str) -> str:
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_AGE = re.compile(r"(\d{1,6}) ?([smhdwy])")
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


def age_s(text: str) -> int | None:
    """The seconds that a text says; None where it says none.

    >>> age_s("30d"), age_s("12h"), age_s("2w"), age_s("soon")
    (2592000, 43200, 1209600, None)
    """
    match = _AGE.fullmatch(text.strip().lower())
    return int(match[1]) * _SECONDS[match[2]] if match else None


def age_in_words(seconds: float) -> str:
    """An age for people, in days, hours or minutes.

    >>> age_in_words(86_400 * 45.2), age_in_words(7_300), age_in_words(20)
    ('45 days', '2 hours', '0 minutes')
    """
    unit, size = next(((u, s) for u, s in _UNITS if seconds >= s), _UNITS[-1])
    number = int(seconds // size)
    return f"{number:,} {unit}{'' if number == 1 else 's'}"
