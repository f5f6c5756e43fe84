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
_VERB = re.compile(
    r"\b(have|has|had|costs?|takes?|opens?|closes?|includes?|needs?|requires?|covers?|applies|apply|works?|ships?|arrives?"
    r"|lasts?|allows?|accepts?|offers?|supports?|contains?|sells?|gets?|starts?|ends?|belongs?|lives?|causes?)\b",
    re.IGNORECASE,
)
_ABROAD = (
    (re.compile(r"\b(nicht)\b\s*", re.IGNORECASE), ""),
    (re.compile(r"\b([Kk])ein(e|en|em|er|es)?\b"), r"ein\2"),
    (
        re.compile(r"\b(ist|sind|kann|können|darf|dürfen|muss|wird|werden|haben)\b", re.IGNORECASE),
        r"\1 nicht",
    ),
    (re.compile(r"\best\b(?!\s+pas\b)"), "n'est pas"),
    (re.compile(r"\b(sont|peut|peuvent)\b(?!\s+pas\b)"), r"ne \1 pas"),
    (re.compile(r"\b(está|están|son|puede|pueden|hay|tiene)\b", re.IGNORECASE), r"no \1"),
)
"""Negation in German, French and Spanish, as far as a word or two make it."""
_OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_YES_OR_NO = re.compile(r"^(\W*)(yes|no|true|false)\b", re.IGNORECASE)
_WRITTEN: tuple[str, ...] = (
    *("two", "three", "four", "five", "six", "seven"),
    *("eight", "nine", "ten", "eleven", "twelve", "thirteen"),
)
_NUMBER = re.compile(rf"\d+|\b(?:{'|'.join(_WRITTEN[:-1])})\b", re.IGNORECASE)
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)(?<![\w<\"'({[])\b[A-Z][a-z]{2,}\b")
_FIRST = re.compile(r"[A-Z][a-z]{2,}\b(?=\s+\S)")
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
    rules = ((_AUXILIARY, r"\1 not"), *_ABROAD, (_VERB, r"never \1"))
    return next((rule.sub(to, text, count=1) for rule, to in rules if rule.search(text)), "")


def other_numbers(text: str) -> str:
    """A text with each number larger by one; empty where it has none.

    >>> other_numbers("30 days, 4.50 euros, room 007"), other_numbers("Three legs"), other_numbers("none")
    ('31 days, 5.51 euros, room 008', 'four legs', '')
    """
    return _NUMBER.sub(_larger, text) if _NUMBER.search(text) else ""


def _larger(match: re.Match[str]) -> str:
    number = match[0]
    if number.lower() in _WRITTEN:
        return _WRITTEN[_WRITTEN.index(number.lower()) + 1]
    # A number of thousands of digits is longer than Python reads: its end is another one, too.
    head, tail = number[:-15], number[-15:]
    return head + str(int(tail) + 1).zfill(len(tail))


def other_names(text: str, near: str = "") -> str:
    """A text with other names in it; empty where it has none. Only capitals within a sentence are taken for names.

    Args:
        near: A text about the same things, such as the question: what is a name there is one here, too.

    >>> other_names("Sent by Anna to Bob."), other_names("Paris"), other_names("Ada did it.", "When did Ada do it?")
    ('Sent by Brandis to Tolmen.', '', 'Brandis did it.')
    """
    names = list(dict.fromkeys(_NAME.findall(text)))
    others = {name: _STAND_INS[number % len(_STAND_INS)] for number, name in enumerate(names)}
    first = _FIRST.match(text)
    if first is not None and first[0] in _NAME.findall(near):
        others.setdefault(first[0], _STAND_INS[len(others) % len(_STAND_INS)])
        return others[first[0]] + _NAME.sub(lambda match: others[match[0]], text[first.end() :])
    return _NAME.sub(lambda match: others[match[0]], text) if names else ""


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
