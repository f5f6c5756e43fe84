"""Whether what a turn states is known: neither made up nor at odds with what the user knows or said before.

How this works: only what cannot be a matter of wording is looked at: identifiers, addresses, numbers that belong to
something, and names that are given as one's own. A value is known where all its pieces stand in the goal, in the facts
or in what the agent said. The rest (was the flight really delayed?) is a question for a judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.doors.conversations.fault import Fault, clipped
from evenhand.doors.conversations.rules.moment import Moment, SoFar, plain

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
_HANDLE = re.compile(r"\b[A-Za-z]\w*_\w*\d+\b")
_MIXED = re.compile(
    r"(?<![\w.@-])#?(?=[A-Z0-9-]*\d)(?=[A-Z0-9-]*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*(?![\w@])"
)
_DIGITS = re.compile(r"(?<![\w$€£.,:/-])#?\d{4,}(?![\w%]|[.,:/-]\d)")
_PHONE = re.compile(
    r"(?<!\w)(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)[ ]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)"
)
_LONG_NUMBER = re.compile(r"(?<!\w)\d{4}(?:[ -]\d{4}){2,3}(?!\w)")
_STREET = re.compile(
    r"\b\d{1,5} (?:[A-Z][\w.]*\s){1,3}(?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Boulevard|Blvd|Court|Way"
    r"|Place)\b"
)
_LETTERS = re.compile(
    r"\b(?:id|code|number|reservation|confirmation|booking|reference|order|ticket"
    r"|pnr)\b[^.?!\n]{0,24}?\b((?=[A-Z]{5,8}\b)[A-Z]+)\b",
    re.IGNORECASE,
)
_OWN_NAME = re.compile(
    r"\b(?i:my (?:full |last |first )?name is|my name's|name:|i am called"
    r"|i'm called)[ ]+((?:[A-Z][\w'-]+)(?: [A-Z][\w'-]+){0,2})"
)
_BORN = re.compile(
    r"\b(?:born(?: on)?|birthday|birth ?date|date of birth|dob)\b[^.?!\n\d]{0,20}((?:\d{4}-\d\d?-\d\d?)"
    r"|(?:\d\d?[/.]\d\d?[/.]\d{2,4})"
    r"|(?:(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december)\s+\d{1,2}(?:st|n[d]|rd|th)?,?\s+\d{4}))",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_STATED = re.compile(
    r"\bmy ((?:[a-z]+ ){0,3}(?:id|number|code|e-?mail(?: address)?|phone(?: number)?|name|address|birthday"
    r"|date of birth|zip(?: code)?|username|pin))"
    r"(?: address)?(?: is|'s|:| was| =)+ (?:actually |just |called )?([^\s,;!?]+(?: \d[\d -]*)?)"
)
_NUMBERS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_COUNTED = re.compile(
    rf"\b(\d{{1,3}}|{'|'.join(_NUMBERS)})[ -]+((?:[a-z]+[ -]){{0,2}}?)([a-z]{{3,}})\b"
)
_NO = re.compile(
    r"\b(?:no|not|never|without|don't|doesn't|didn't|haven't|hasn't|isn't|wasn't|none|nor)\b"
)
_SELF = re.compile(r"\b(?:i|i'm|i've|i'd|my|we|we're|we've|our|it's|mine|me)\b")
_TAIL = ".,;:!?)\"'”’"


def of_facts(moment: Moment) -> Iterator[Fault]:
    """The mistakes of one who makes facts up, or turns them round."""
    so_far, text = moment.so_far, moment.text.replace("’", "'")
    facts = moment.contract.facts
    contradicted = _of_facts(text, facts, so_far) or _of_own_words(text, so_far)
    if contradicted:
        yield Fault("contradicted-fact", contradicted)
    for value in _values(text):
        if so_far.knows(value):
            continue
        name = _fact_like(value, text, facts)
        if not name:
            yield Fault("invented-fact", f"{clipped(value)} is in nothing that it was told")
            return
        if not contradicted:
            yield Fault(
                "contradicted-fact", f"{clipped(value)}, and {name} is {clipped(str(facts[name]))}"
            )
            return


def note_stated(text: str, so_far: SoFar) -> None:
    """Remembers what a turn that counts said of its user."""
    for match in _STATED.finditer(plain(text)):
        # The first statement counts, as one that differs later is the mistake.
        so_far.stated.setdefault(match[1], match[2].strip(_TAIL))


def _values(text: str) -> Iterator[str]:
    """The identifiers, addresses and names in a text."""
    for pattern in (_EMAIL, _HANDLE, _MIXED, _LONG_NUMBER, _PHONE, _STREET):
        for match in pattern.finditer(text):
            if pattern is not _MIXED or _is_code(match[0]):
                yield match[0]
    for match in _DIGITS.finditer(text):
        # A year identifies nothing.
        if not _YEAR.fullmatch(match[0]):
            yield match[0]
    for pattern in (_LETTERS, _OWN_NAME, _BORN):
        for match in pattern.finditer(text):
            # The pattern ignores case for the words before the code; the code itself is in capitals.
            if pattern is not _LETTERS or match[1].isupper():
                yield match[1]


def _is_code(token: str) -> bool:
    """Whether capital letters and digits make a code, and not a time, a model's name or a size: 11AM, A4, 2PM."""
    pieces = token.lstrip("#")
    return len(pieces) >= 5 and not re.fullmatch(
        r"\d{1,4}(?:AM|PM|EST|PST|UTC|GMT|USD|EUR|KG|LB|LBS|KM|MB|GB|TB|ST|N[D]|RD|TH)+|\d+-?[A-Z]",
        pieces,
    )


def _shape(value: str) -> str:
    """The form of a value: letters and digits, each run as one sign."""
    return re.sub(r"\d+", "9", re.sub(r"[^\W\d_]+", "a", plain(value)))


def _fact_like(value: str, text: str, facts: Mapping[str, Any]) -> str:
    """The fact that a value was meant to be: of its form, and named beside it or of a form that no other has."""
    shape, lowered = _shape(value), plain(text)
    for name, fact in facts.items():
        if _shape(str(fact)) != shape or plain(str(fact)) in lowered:
            continue
        named = any(
            part in lowered for part in re.split(r"[\W_]+", name.casefold()) if len(part) > 1
        )
        # Every number and every word has one of these two forms, so the form alone says nothing.
        if named or shape not in ("9", "a"):
            return name
    return ""


def _of_facts(text: str, facts: Mapping[str, Any], so_far: SoFar) -> str:
    """A fact that the text says otherwise; empty for none."""
    lowered = plain(text)
    for name, fact in facts.items():
        noun = re.sub(r"[\W_]+", " ", name.casefold()).strip()
        if isinstance(fact, bool) or str(fact).casefold() in ("yes", "no"):
            wrong = _denied(lowered, noun, fact is True or str(fact).casefold() == "yes")
        elif isinstance(fact, (int, float)) or str(fact).isdigit():
            wrong = _counted(lowered, noun, str(fact)) or _named(lowered, noun, str(fact), so_far)
        else:
            wrong = _named(lowered, noun, str(fact), so_far)
        if wrong:
            return f"{clipped(wrong)}, and {name} is {clipped(str(fact))}"
    return ""


def _denied(text: str, noun: str, holds: bool) -> str:
    """Words that say the opposite of a fact that is true or false."""
    for sentence in re.split(r"[.!?;\n]+", text):
        # A condition, or a sentence about somebody else, states nothing of the user.
        if "if " in sentence or noun not in sentence or not _SELF.search(sentence):
            continue
        before = sentence[: sentence.index(noun)]
        if not re.search(
            r"\b(?:have|had|got|bought|purchased|own|am|is|was|i'm|are|with|without|no)\b", before
        ):
            continue
        if bool(_NO.search(before[-40:])) is holds:
            return sentence.strip()
    return ""


def _stem(word: str) -> str:
    return word.removesuffix("s") if not word.endswith("ss") else word


def _counted(text: str, noun: str, fact: str) -> str:
    """A number of the noun's things that is not the fact's: `four passengers`."""
    nouns = {
        _stem(word)
        for word in noun.split()
        if word not in ("number", "of", "count", "total", "how", "many")
    }
    for match in _COUNTED.finditer(text):
        if _stem(match[3]) in nouns and str(_NUMBERS.get(match[1], match[1])) != fact:
            return match[0]
    return ""


def _named(text: str, noun: str, fact: str, so_far: SoFar) -> str:
    """A value that is said to be the noun's, and is of the fact's form, but another: `my order is 1043`."""
    expected, shape = plain(fact), _shape(fact)
    spaced = r"[\s_-]+".join(map(re.escape, noun.split()))
    size = len(expected.split())
    if not spaced or expected in text:
        return ""
    value = r"([^\s,;!?]+" + r"(?: [^\s,;!?]+)" * (size - 1) + ")"
    match = re.search(
        rf"\b{spaced}(?: (?:number|id|code|address))?(?: is|'s|:| was| =| would be| number)+ (?:actually |just "
        rf"|called |now )?{value}",
        text,
    )
    if match is None:
        return ""
    statement = match[1].strip(_TAIL)
    same_form = _shape(statement) == shape and statement not in _VAGUE
    of_agent = statement in plain(so_far.agent_last)  # it is then what the two speak of
    return match[0].strip(_TAIL) if same_form and statement != expected and not of_agent else ""


_VAGUE = frozenset(
    "not in on at the a an my this that it here there fine wrong right correct missing unknown still also late "
    "damaged"
    " very so too now gone going supposed delayed lost broken cancelled canceled about from for with what".split()
)


def _of_own_words(text: str, so_far: SoFar) -> str:
    """What the text says of its user that is not what the user said before; empty for nothing."""
    for match in _STATED.finditer(plain(text)):
        before, now = so_far.stated.get(match[1]), match[2].strip(_TAIL)
        if before and before != now and _shape(before) == _shape(now) and re.search(r"\d|@", now):
            return f"{clipped(match[0])}, and before it was {clipped(before)}"
    return ""
