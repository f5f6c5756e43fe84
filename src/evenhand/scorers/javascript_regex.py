"""JavaScript's regular expressions, in Python, and not forever.

How this works: a pattern is respelt once, token by token, into one of Python's that matches the same. Patterns that can
backtrack without end on an unlucky text (a repeated group with a repeat or a choice inside) are searched for in a small
process of their own, which is stopped after a second: in ours, such a search could not be interrupted and would hold
up the whole run.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from evenhand.core.errors import ScoreError

if TYPE_CHECKING:
    import subprocess

LIMIT_S = 1.0
_START_S = 60.0
LONG = 5000
"""On longer texts even two repeats in a row are worth the care."""

_PARTS = r"""(?xs)
    (?P<escape>\\(?:u\{(?P<point>[0-9a-fA-F]+)\}|k<(?P<back>\w+)>|.))
  | (?P<nothing>\[\^\])
  | (?P<foreign>\(\?(?:P|\#|>|\()|(?:[*+?]|\{\d+(?:,\d*)?\})\+)
  | (?P<flags>\(\?[a-zA-Z-]+\))
  | (?P<group>\(\?<(?![=!]))
  | (?P<class>\[\^?)
  | (?P<end>\])
  | (?P<brace>\{(?=,))
  | (?P<dollar>\$)
  | (?P<dot>\.)
    """
_LETTERS = frozenset("bBdDsSwWtnrvfxuc0123456789")
SPACE = " \\t\\n\\v\\f\\r\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff"
"""What JavaScript takes for white space, as it is written between the brackets of a pattern."""
_REPEAT = re.compile(r"[*+]|\{\d+,\}|\{\d*,?(?:\d{2,})\}")
_CHILD = """
import json, re, sys
print("ready", flush=True)
for line in sys.stdin:
    pattern, text, flags = json.loads(line)
    match = re.compile(pattern, flags).search(text)
    print(json.dumps(match and match.span()), flush=True)
"""


@lru_cache(maxsize=1024)
def javascript_pattern(pattern: str) -> re.Pattern[str]:
    r"""A JavaScript regular expression, without flags, as one of Python's that matches the same.

    What differs: `$` is the very end, `.` stops at every kind of line end, `\d` and `\w` are ASCII while `\s` is not,
    named groups are written `(?<name>`, letters may be escaped for no reason, and there are no inline flags.

    Raises:
        ScoreError: It is not a regular expression.
    """
    inside = False

    def respelt(match: re.Match[str]) -> str:
        nonlocal inside
        text = match.group()
        if match["escape"]:
            return _escape(match, inside=inside)
        if inside:
            inside = not match["end"]
            # Python warns of a nested set at a bare `[` between brackets; to JavaScript it is an ordinary character.
            return "\\[" if match["class"] == "[" else text
        if match["flags"] or match["foreign"]:
            raise ScoreError(
                f"'{pattern}' is not a regular expression of JavaScript's: it has no {text}",
                hint="For either case write [aA], or use icontains." if match["flags"] else "",
            )
        if match["class"]:
            inside = True
            return text
        # `{,5}` is plain text in JavaScript, and a repeat from 0 on in Python.
        spelling = {"nothing": "[\\s\\S]", "group": "(?P<", "brace": "\\{", "dollar": "\\Z"}
        return spelling.get(
            match.lastgroup or "", "[^\\n\\r\\u2028\\u2029]" if match["dot"] else text
        )

    try:
        return re.compile(re.sub(_PARTS, respelt, pattern), re.ASCII)
    except (re.error, OverflowError, RecursionError) as error:
        # A repeat that is too large overflows, and groups nested too deep exceed the limit of recursion.
        raise ScoreError(f"'{pattern}' is not a regular expression: {error}") from None


def _escape(match: re.Match[str], *, inside: bool) -> str:
    text = match.group()
    if match["point"]:
        return re.escape(chr(int(match["point"], 16)))
    if match["back"]:
        return f"(?P={match['back']})"
    if text == "\\s":
        return SPACE if inside else f"[{SPACE}]"
    if text == "\\S" and not inside:
        return f"[^{SPACE}]"
    # Python refuses an escaped letter without a meaning; JavaScript drops the backslash.
    return text if not text[1].isalnum() or text[1] in _LETTERS else text[1]


@lru_cache(maxsize=1024)
def care(pattern: str) -> int:
    """How much care a pattern needs: 2 where it can backtrack without end, 1 where it is slow on long texts, else 0."""
    # Escapes and classes become one character each: brackets and stars in them repeat nothing.
    bare = re.sub(r"\\.|\[(?:\\.|[^\]\\])*\]", "x", pattern, flags=re.DOTALL)
    unsure: list[bool] = []
    repeats = 0
    i = 0
    while i < len(bare):
        char = bare[i]
        repeat = _REPEAT.match(bare, i)
        if char == "(":
            unsure.append(False)
        elif char == ")" and unsure:
            inner = unsure.pop()
            after = _REPEAT.match(bare, i + 1)
            if after and inner:
                return 2
            if unsure and (inner or after):
                unsure[-1] = True
        elif char == "|" or repeat:
            repeats += bool(repeat)
            if unsure:
                unsure[-1] = True
        i = repeat.end() if repeat else i + 1
    return 1 if repeats > 1 else 0


def needs_care(pattern: str, text: str) -> bool:
    """Whether searching this text for this pattern should be left to a process that can be stopped."""
    level = care(pattern)
    return level > 1 or (level == 1 and len(text) > LONG)


def search_apart(pattern: str, text: str, flags: int = re.ASCII) -> tuple[int, int] | str | None:
    """Where the pattern matches, found by a process of its own; in words where it took too long. Blocks.

    Args:
        pattern: In Python's spelling.
    """
    child = _idle.pop() if _idle else _start()
    assert child.stdin is not None  # noqa: S101 (a pipe)
    try:
        child.stdin.write(json.dumps([pattern, text, int(flags)]) + "\n")
        child.stdin.flush()
        answer = _line(child, LIMIT_S)
    except OSError:
        answer = ""
    if not answer:
        # It may still be searching: its late answer would be taken for that of the next pattern.
        _stop(child)
        return f"took longer than {LIMIT_S:g} s on a text of {len(text):,} characters"
    _idle.append(child)
    span = json.loads(answer)
    return None if span is None else (span[0], span[1])


_idle: list[subprocess.Popen[str]] = []


def _line(child: subprocess.Popen[str], limit_s: float) -> str:
    """The search process's next line; empty where that takes longer than the limit, or the process has ended."""
    import selectors  # noqa: PLC0415 (only for the patterns that need it)

    assert child.stdout is not None  # noqa: S101 (a pipe)
    with selectors.DefaultSelector() as waiting:
        waiting.register(child.stdout, selectors.EVENT_READ)
        return child.stdout.readline() if waiting.select(limit_s) else ""


def _start() -> subprocess.Popen[str]:
    """A process that is ready to search: on a busy machine, starting it takes longer than a search may."""
    import subprocess  # noqa: PLC0415 (imported on use)

    # Isolated and without site-packages, it starts sooner, and no file of the user's can shadow `re` or `json`.
    child = subprocess.Popen(  # noqa: S603 (our own program, given above)
        [sys.executable, "-I", "-S", "-c", _CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )
    _line(child, _START_S)  # it says that it is ready: its start is not counted as a search
    return child


def _stop(child: subprocess.Popen[str]) -> None:
    child.kill()
    with contextlib.suppress(OSError), child:  # closes its pipes and waits for it
        pass


@atexit.register
def close() -> None:
    """Stops the processes that wait for patterns."""
    while _idle:
        _stop(_idle.pop())
