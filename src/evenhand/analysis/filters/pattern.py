r"""Regular expressions of the filter: what `re` here and `RegExp` on the viewer's page read alike.

How this works: an expression is read once, part by part. Whatever the two languages disagree about is refused or spelt
so that both mean the same; `page/src/model/pattern.ts` has the same rules, tested on the same vectors. Upper and lower
case are alike, since texts are in lower case. `\d`, `\w` and `\b` know ASCII. `^` and `$` are the ends of a line.

`re` can take forever on an unlucky text, and cannot be interrupted. Where the text is too long for what an expression
can cost at worst, the search is left to a process that is stopped after a second.
"""

from __future__ import annotations

import re

from evenhand.core.errors import UsageError

LARGEST = 2_000
"""Characters that an expression can ask for, each as often as it is repeated."""
_DEEPEST = 50
"""Brackets in brackets."""
_AT_ONCE = 10_000_000
"""Steps that a search may take at worst without being left to another process: about half a second."""
_PART = re.compile(
    r"""
    (?P<repeat>[*+?]|\{(?P<least>\d{1,4})(?:(?P<comma>,)(?P<most>\d{1,4})?)?\})\??
  | (?P<class>\[(?P<negated>\^?)(?P<members>(?:\\.|[^\\])(?:\\.|[^\]\\])*)\])
  | (?P<open>\((?P<marked>\?:?)?)
  | \\(?P<escaped>.?)
  | (?P<single>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_MEMBER = re.compile(r"\\(?P<set>[dws])|(?P<low>\\?.)(?:-(?P<high>\\?.))?", re.DOTALL)
_SETS = {"d": "0-9", "w": "0-9a-z_", "s": "\t-\r \xa0"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_PLACES = {"^": "(?:^)", "$": "(?:$)", "b": r"(?:\b)", "B": r"(?!\b)"}
"""What stands for a place; `\\B` is spelt otherwise, since Python's holds nowhere in an empty text."""


class PatternError(ValueError):
    """What is wrong with an expression, and what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what, self.hint = what, hint


class Pattern:
    """A regular expression that can be looked for.

    Args:
        source: What stands between the slashes.

    Raises:
        PatternError: It is not of this language, or too large.
    """

    def __init__(self, source: str) -> None:
        reader = _Reader(source)
        self.needed = reader.needed()
        """Texts of which one stands in whatever is found; None where nothing can be said."""
        self._choices, self._wide = reader.choices, reader.wide
        self._compiled = re.compile(reader.spelt, re.MULTILINE | re.ASCII)

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in a text, which is in lower case.

        Raises:
            UsageError: It takes too long on this text.
        """
        # Looking for a text is many times faster than the search, and most texts lack it.
        if self.needed is not None and not any(part in text for part in self.needed):
            return False
        if self._choices * (len(text) + 1) ** (1 + self._wide) <= _AT_ONCE:
            return self._compiled.search(text) is not None
        from evenhand.scorers.javascript_regex import search_apart  # noqa: PLC0415 (on use)

        span = search_apart(self._compiled.pattern, text, self._compiled.flags)
        if isinstance(span, str):
            raise UsageError(
                f"the regular expression {span}",
                hint="Write how often at most, e.g. .{0,100} instead of .*, or search for words.",
            )
        return span is not None


class _Group:
    """What is known of the part between two brackets: of how many characters it is, and in how many ways it matches."""

    def __init__(self) -> None:
        self.size = self.bars = 0
        self.choices = 1
        self.repeats = False


class _Reader:
    """Reads an expression, from left to right.

    Attributes:
        choices: In how many ways it matches in one place, repeats without an end left out.
        wide: How many of its repeats have no end.
    """

    def __init__(self, source: str) -> None:
        self.wide = 0
        self._open = [_Group()]
        self._last: _Group | None = None
        self._repeated = False
        self._run = ""
        self._longest = [""]
        parts: list[str] = []
        at = 0
        # One alternative takes any character, so this only ends with the text.
        while match := _PART.match(source, at):
            at = match.end()
            parts.append(self._part(match))
        if len(self._open) > 1:
            raise PatternError("a '(' is not closed", r"Write \( for the character.")
        self._end_of_run()
        self.choices = self._open[0].choices
        self.spelt = "".join(parts)

    def needed(self) -> tuple[str, ...] | None:
        """Texts of which one stands in whatever is found: the longest of each alternative."""
        return tuple(self._longest) if all(self._longest) else None

    def _part(self, match: re.Match[str]) -> str:
        if match["repeat"]:
            return self._repeat(match)
        self._repeated = False
        if match["open"]:
            return self._opened(match["marked"])
        if match["class"]:
            return self._atom(f"[{match['negated']}{_members(match['members'])}]")
        if match["single"] is not None:
            return self._single(match["single"])
        return self._escape(match["escaped"])

    def _single(self, c: str) -> str:
        if c in "^$":
            return self._place(c)
        if c == ".":
            return self._atom(r"[^\n]")
        if c == "[":
            raise PatternError("a '[' is not closed", r"Write \[ for the character.")
        if c == "|":
            self._last = None
            self._end_of_run()
            if len(self._open) == 1:
                self._longest.append("")
            self._open[-1].bars += 1
            return c
        return self._closed() if c == ")" else self._letter(c)

    def _opened(self, marked: str | None) -> str:
        if marked == "?":
            raise PatternError(
                "lookaheads, lookbehinds and flags are not supported", "Use plain brackets."
            )
        if len(self._open) > _DEEPEST:
            raise PatternError("the regular expression is too large", "Use fewer brackets.")
        self._end_of_run()
        self._open.append(_Group())
        self._last = None
        return "(?:"

    def _closed(self) -> str:
        group = self._open.pop()
        if not self._open:
            raise PatternError("a ')' has no '('", r"Write \) for the character.")
        group.choices *= group.bars + 1
        self._open[-1].repeats |= group.repeats
        self._end_of_run()
        self._put(group)
        return ")"

    def _escape(self, c: str) -> str:
        if not c:
            raise PatternError(r"nothing stands after '\'", r"Write \\ for the character.")
        if c in _PLACES and c.isalpha():
            return self._place(c)
        if c.lower() in _SETS:
            return self._atom(f"[{'' if c.islower() else '^'}{_SETS[c.lower()]}]")
        return self._letter(_meant(c))

    def _place(self, place: str) -> str:
        self._last = None
        return _PLACES[place]

    def _letter(self, c: str) -> str:
        small = _small(c)
        spelt = self._atom(re.escape(small), ends=False)
        if len(self._open) == 1:
            self._run += small
        return spelt

    def _atom(self, spelt: str, *, ends: bool = True) -> str:
        if ends:
            self._end_of_run()
        one = _Group()
        one.size = 1
        self._put(one)
        return spelt

    def _put(self, group: _Group) -> None:
        around = self._open[-1]
        around.size += group.size
        around.choices *= group.choices
        self._last = group

    def _repeat(self, match: re.Match[str]) -> str:
        sign, around, group = match["repeat"], self._open[-1], self._last
        if self._repeated:
            raise PatternError("a repetition is repeated", "Put what is repeated in brackets.")
        if group is None:
            what = f"nothing stands before '{sign}'"
            raise PatternError(what, f"Write \\{sign} for the character.")
        least = int(match["least"] or (sign == "+"))
        bounded = match["most"] or (match["least"] if not match["comma"] else None)
        most = 1 if sign == "?" else int(bounded) if bounded else None
        if most is not None and most < least:
            raise PatternError(f"'{sign}' counts down", "The smaller number is first.")
        around.size += group.size * (max(most or 1, least) - 1)
        if max(around.size, least) > LARGEST or (most or 0) > LARGEST:
            raise PatternError("the regular expression is too large", "Repeat less in it.")
        # A repeat of what can itself be found in several ways has more ways than a number can tell.
        tangled = (most is None or most > 1) and (group.choices > 1 or group.repeats)
        around.choices *= _AT_ONCE if tangled else 1 if most is None else most - least + 1
        around.repeats |= most is None
        self.wide += most is None
        # What is repeated may be missing: the letter before the sign is not needed.
        self._run = self._run[:-1]
        self._end_of_run()
        self._repeated = True
        return match.group()

    def _end_of_run(self) -> None:
        self._longest[-1] = max(self._run, self._longest[-1], key=len)
        self._run = ""


def _members(text: str) -> str:
    spelt = ""
    for match in _MEMBER.finditer(text):
        if match["set"]:
            spelt += _SETS[match["set"]]
            continue
        low = _member(match["low"])
        if not match["high"]:
            spelt += re.escape(_small(low))
            continue
        high = match["high"]
        # A set can't end a range: RegExp would take the hyphen for a hyphen.
        if high[0] + high[-1].lower() in ("\\d", "\\w", "\\s") or _member(high) < low:
            raise PatternError("a range of characters runs backwards", "E.g. [a-z]")
        spelt += f"{re.escape(low)}-{re.escape(_member(high))}"
        first, last = max(low, "A"), min(_member(high), "Z")
        # Texts are in lower case: [A-Z] has to find them.
        if first <= last:
            spelt += f"{first.lower()}-{last.lower()}"
    return spelt


def _member(text: str) -> str:
    """The character that a part of a class stands for."""
    if len(text) == 1:
        return text
    c = text[1]
    if c in _PLACES and c.isalpha():
        raise PatternError(f"{text} is a place and no character", "Write it outside of [].")
    if c.lower() in _SETS:
        raise PatternError(r"capitals such as \D don't work in []", r"E.g. [^\d]")
    return _meant(c)


def _meant(c: str) -> str:
    r"""The character that stands behind a backslash."""
    if c in _CONTROLS:
        return _CONTROLS[c]
    if c.isascii() and c.isalnum():
        raise PatternError(f"'\\{c}' is not supported", r"There are \d \w \s \b \n \t \r.")
    return c


def _small(c: str) -> str:
    # `İ` becomes two characters, which a class can't hold.
    return c.lower() if len(c.lower()) == 1 else c
