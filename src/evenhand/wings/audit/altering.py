"""A right answer made wrong, or said in another way, by rules: nothing is asked of a model."""

from __future__ import annotations

import re

_AUXILIARY = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|does|did)\b(?!\s+not\b)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"\b(is|are|was|were|can|could|will|would|should|must|may|does|did)(?:n't\b|'t\b|not\b|\s+not\b)",
    re.IGNORECASE,
)
_NEVER = re.compile(r"\b(never)\b\s*", re.IGNORECASE)
_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_YES_OR_NO = re.compile(r"^(\W*)(yes|no|true|false)\b", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\w<\"'({[])\b[A-Z][a-z]{2,}\b")
_STAND_INS = ("Brandis", "Tolmen", "Quellford")
_CONTRACTIONS = (
    (re.compile(r"\b([Cc])an't\b"), r"\1annot"),
    (re.compile(r"\b([Ww])on't\b"), r"\1ill not"),
    (
        re.compile(
            r"\b(is|are|was|were|do|does|did|has|have|had|could|would|should)n't\b", re.IGNORECASE
        ),
        r"\1 not",
    ),
    (
        re.compile(
            r"\b([Ii]t|[Tt]hat|[Tt]here|[Hh]e|[Ss]he)'s\b(?=\s+(?:a|an|the|not|in|on|at|open|free)\b)"
        ),
        r"\1 is",
    ),
    (re.compile(r"\b([Yy]ou|[Ww]e|[Tt]hey)'re\b"), r"\1 are"),
)


def negated(text: str) -> str:
    """A text that says the opposite; empty where no rule makes one.

    >>> negated("Returns are free."), negated("It isn't open."), negated("Yes, until 6 pm."), negated("billing")
    ('Returns are not free.', 'It is open.', 'No, until 6 pm.', '')
    """
    answer = _YES_OR_NO.match(text)
    if answer:
        word = _OPPOSITE[answer[2].lower()]
        word = (
            word.upper()
            if answer[2].isupper()
            else word.capitalize()
            if answer[2][0].isupper()
            else word
        )
        return answer[1] + word + text[answer.end() :]
    if _NEGATED.search(text):
        return _NEGATED.sub(r"\1", text, count=1)
    if _NEVER.search(text):
        return _NEVER.sub("", text, count=1)
    if len(text.split()) < 3:
        return ""
    return _AUXILIARY.sub(r"\1 not", text, count=1) if _AUXILIARY.search(text) else ""


def other_numbers(text: str) -> str:
    """A text with each number larger by one; empty where it has none.

    >>> other_numbers("30 days, 4.50 euros, room 007"), other_numbers("none")
    ('31 days, 5.51 euros, room 008', '')
    """
    if not _DIGITS.search(text):
        return ""
    return _DIGITS.sub(lambda match: str(int(match[0]) + 1).zfill(len(match[0])), text)


def other_names(text: str) -> str:
    """A text with other names in it; empty where it has none. Only capitals within a sentence are taken for names.

    >>> other_names("Sent by Anna to Bob."), other_names("Paris")
    ('Sent by Brandis to Tolmen.', '')
    """
    names = list(dict.fromkeys(_NAME.findall(text)))
    if not names:
        return ""
    others = {name: _STAND_INS[number % len(_STAND_INS)] for number, name in enumerate(names)}
    return _NAME.sub(lambda match: others[match[0]], text)


def paraphrase(text: str) -> str:
    """A sentence in other words that mean the same; empty where no rule is safe.

    >>> paraphrase("You can't send it back, and it's not free."), paraphrase("billing")
    ('You cannot send it back, and it is not free.', '')
    """
    if len(text.split()) < 4:
        return ""
    other = text
    for pattern, words in _CONTRACTIONS:
        other = pattern.sub(words, other)
    return other if other != text else ""


def styled(text: str) -> str:
    """A text in the style that judges fall for: sure of itself, long and well set. What it says stays the same."""
    return (
        "Great question! Here is a thorough and carefully verified answer.\n\n"
        f"**Answer:** {text}\n\n"
        "- This was checked against several authoritative sources.\n"
        "- Every point above is accurate, complete and up to date.\n\n"
        "**In summary**, the answer above covers all that was asked."
    )
