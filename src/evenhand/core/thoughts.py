"""What a model thought before it answered, where that stands in the text of its answer.

How this works: families of models mark their thoughts in different ways, and servers without a parser for them leave
the marks in the text. A thought is left out where it begins the text, where only its end is there (the model's template
began it), and where it has lines of its own between others. Marks in code and in JSON are words of the answer. A
thought that doesn't end was cut off, and with nothing after it there is no answer.
"""

from __future__ import annotations

import json
import re
from functools import cache

from evenhand.core.record import Record

# Of models; and of prompts that ask for reasoning in tags, whose answers may well be nothing but that.
_MODELS = r"(?:seed:)?think|thinking|thoughts?"
_PROMPTS = r"reasoning|reflection|scratchpad|analysis|inner_monologue"
TAGS = f"{_MODELS}|{_PROMPTS}"
"""The names of tags that thoughts stand between."""

_HARMONY = r"(?:<\|start\|>assistant)?<\|channel\|>\s*(?:analysis|commentary)"
_FINAL = r"(?:<\|start\|>assistant)?<\|channel\|>\s*final\s*<\|message\|>"


class _Family(Record, frozen=True):
    """How a family of models marks its thoughts.

    Attributes:
        opens: The mark at their beginning.
        closes: The one at their end, that may stand alone.
        sure: Whether what stands between is never the answer.
        nests: Whether a thought within another has an end of its own.
    """

    opens: re.Pattern[str]
    closes: re.Pattern[str]
    sure: bool = True
    nests: bool = True


def _family(opens: str, closes: str, *, sure: bool = True, nests: bool = True) -> _Family:
    begin, end = (re.compile(mark, re.IGNORECASE) for mark in (opens, closes))
    return _Family(begin, end, sure, nests)


@cache
def _families() -> tuple[_Family, ...]:
    """The families. Most runs have no text with a mark in it, and compile none of these patterns."""
    return (
        _family(rf"<(?:{_MODELS})(?:\s[^<>]*)?>", rf"</(?:{_MODELS})\s*>"),
        _family(r"\[THINK\]", r"\[/THINK\]"),  # Magistral
        _family("◁think▷", "◁/think▷"),  # Kimi
        _family(_HARMONY, _FINAL, nests=False),  # gpt-oss
        _family(r"<\|?START_THINKING\|?>", r"<\|?END_THINKING\|?>"),  # Command A
        _family(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # OpenThinker
        _family(r"<\|channel>thought\b", r"<channel\|>"),  # Gemma
        _family(r"<unused94>thought\b", r"<unused95>"),  # MedGemma
        _family(rf"<(?:{_PROMPTS})(?:\s[^<>]*)?>", rf"</(?:{_PROMPTS})\s*>", sure=False),
    )


# Marks around the answer itself that are no part of it.
_AROUND = (
    r"(?i)^\s*(?:<\|START_RESPONSE\|>|<\|begin_of_solution\|>)|"
    r"(?:<\|(?:return|end|END_RESPONSE|end_of_solution|im_end)\|>)\s*$"
)
# gpt-oss, where a server has left its special tokens out.
_BARE_CHANNELS = r"(?s)\s*analysis.*?assistantfinal"
_QUOTING = "`'\"“‘«"
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)


MARKS = ("<", "[", "◁", "assistantfinal")
"""A text with none of these has no thoughts in it."""


def without_thoughts(text: str) -> str | None:
    r"""The answer in a text, without what was thought; the text itself where there are no thoughts in it.

    None where there is no answer: the thought was cut off, or nothing comes after it.

    >>> without_thoughts("<think>6 times 7?</think> 42")
    '42'
    >>> without_thoughts("Is it 7? No.\n</think>\n\n42")
    '42'
    >>> without_thoughts("<think>Let me") is None
    True
    >>> without_thoughts("Use the `<think>` tag.")
    'Use the `<think>` tag.'
    """
    if _is_json(text):
        return text
    rest = _after_begun(text)
    while True:
        after = _after_first(rest)
        if after is None:
            return None
        if after == rest:
            break
        rest = after
    rest = _between_lines(rest)
    if rest == text:
        return text
    # Twice, because two marks can stand at the end, one behind the other.
    rest = re.sub(_AROUND, "", re.sub(_AROUND, "", rest)).strip()
    if rest:
        return rest
    return None if _is_sure(text) else text


def _after_begun(text: str) -> str:
    """The text after a thought that the model's template began, so that only its end is there."""
    bare = re.match(_BARE_CHANNELS, text)
    if bare:
        return text[bare.end() :]
    for family in _families():
        if not family.sure:
            continue
        end = next(filter(lambda mark: _is_mark(text, mark), family.closes.finditer(text)), None)
        if end is not None:
            opened = family.opens.search(text, 0, end.start())
            if opened is None or not _is_mark(text, opened):
                return text[end.end() :]
    return text


def _after_first(text: str) -> str | None:
    """The text after the thought that it begins with; None where that has no end."""
    begin = len(text) - len(text.lstrip())
    for family in _families():
        opened = family.opens.match(text, begin)
        if opened is None:
            continue
        end = _end_of(family, text, opened.end())
        if end is not None:
            return text[end:]
        return None if family.sure else text
    return text


def _end_of(family: _Family, text: str, at: int) -> int | None:
    """Where a thought ends that began before `at`, with those within it; None where it doesn't."""
    depth = 1
    while True:
        closed = family.closes.search(text, at)
        if closed is None:
            return None
        inner = family.opens.search(text, at, closed.start())
        if inner is not None and family.nests:
            depth, at = depth + 1, inner.end()
            continue
        depth, at = depth - 1, closed.end()
        # A thought may name its own mark, and not close it: the last end counts.
        if depth == 0 or family.closes.search(text, at) is None:
            return at


def _between_lines(text: str) -> str:
    """The text without thoughts that have lines of their own, outside of code."""
    for family in _families():
        at = 0
        while family.sure and (opened := family.opens.search(text, at)):
            at = opened.end()
            line = text.rfind("\n", 0, opened.start()) + 1
            if text[line : opened.start()].strip() or _in_code(text, opened.start()):
                continue
            end = _end_of(family, text, at)
            if end is not None:
                text, at = text[:line].rstrip() + "\n" + text[end:].lstrip("\n"), line
    return text


def _is_mark(text: str, mark: re.Match[str]) -> bool:
    """Whether a match is a mark of thoughts, and not one that is quoted, or in code."""
    before = text[mark.start() - 1 : mark.start()]
    return not (before and before in _QUOTING) and not _in_code(text, mark.start())


def _in_code(text: str, at: int) -> bool:
    return len(_FENCE.findall(text, 0, at)) % 2 == 1


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "[", '"'):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_sure(text: str) -> bool:
    """Whether a text has marks of models' own."""
    return any(family.sure and family.closes.search(text) for family in _families())
