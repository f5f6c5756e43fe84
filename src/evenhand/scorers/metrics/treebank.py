"""Words and punctuation as the Penn Treebank splits them: "can't" is "ca" and "n't", a final stop stands alone.

Source: the tokenisation of the Penn Treebank (Marcus, Santorini and Marcinkiewicz, 1993, aclanthology.org/J93-2004).
It is made for single sentences: only the last stop of a text is split off.
"""

from __future__ import annotations

import re
import unicodedata

_RULES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), into)
    for pattern, into in (
        (r"\.{3}", " ... "),
        (r"[:,](?!\d)", r" \g<0> "),
        (r"[;@#$%&]", r" \g<0> "),
        # The last stop, but not that of "U.S."
        (r"([^.])(?<!\b[A-Za-z]\.[A-Za-z])(\.)([\])}>'\s]*)$", r"\1 \2\3 "),
        (r"[?!]", r" \g<0> "),
        (r"[\]\[(){}<>]", r" \g<0> "),
        (r"--", " -- "),
        (r"^|$", " "),
        (r"([^'])' ", r"\1 ' "),
        (r"'([sSmMdD]) ", r" '\1 "),
        (r"('ll|'LL|'re|'RE|'ve|'VE|n't|N'T) ", r" \1 "),
    )
)
_PAIRS = tuple(
    re.compile(rf"(?<!\w){first}{second}(?!\w)", re.IGNORECASE)
    for first, second in (
        ("(can)", "(not)"),
        ("(d)", "('ye)"),
        ("(gim)", "(me)"),
        ("(gon)", "(na)"),
        ("(got)", "(ta)"),
        ("(lem)", "(me)"),
        ("(more)", "('n)"),
        ("(wan)", "(na)(?= )"),
        ("('t)", "(is)"),
        ("('t)", "(was)"),
    )
)
_QUOTE = re.compile(r"``|''|\"")


def treebank_words(text: str) -> list[str]:
    """The words of a text, punctuation apart, quotes as `` and ''. Empty text has none."""
    text = _quotes(" ".join(text.split()))
    for pattern, into in _RULES:
        text = pattern.sub(into, text)
    for pattern in _PAIRS:
        text = pattern.sub(r" \1 \2 ", text)
    return text.split()


def _quotes(text: str) -> str:
    """Each quote as an opening or a closing one."""
    is_open = False

    def quote_mark(match: re.Match[str]) -> str:
        nonlocal is_open
        before = text[match.start() - 1 : match.start()]
        begins = not before or before in " <" or unicodedata.category(before)[0] == "P"
        at_end = match.end() == len(text) and before not in ("", " ", *"([{<")
        is_open = match.group() == "``" or (
            match.group() == '"'
            and not (is_open or at_end)
            and begins
            and before not in (".", "!", "?")
        )
        return " `` " if is_open else " '' "

    return _QUOTE.sub(quote_mark, text)
