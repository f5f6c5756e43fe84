"""Whether a turn fits the course of the conversation: it says something new, and ends it where it may be ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice

from evenhand.doors.conversations.fault import Fault, clipped
from evenhand.doors.conversations.rules.moment import Moment, SoFar, plain, words

_NOTHING = re.compile(
    r"null|none|n/?a|nothing|empty|silence|silent|no (?:response|reply|answer|message|output|content)|blank"
    r"|says nothing|user(?: message)?|message|response",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\W_]*")
_ASKS = re.compile(
    r"\b(?:please|kindly) (?:provide|confirm|share|let me know|tell|specify|choose|select|reply|respond|enter"
    r"|give|verify|indicate|send|state)\b"
    r"|\blet me know (?:which|what|if|how|when|whether|your)\b|\(yes/no\)|\b(?:yes or no|i(?:'ll)? need (?:your"
    r"|the|to know|some|a few))\b"
)
_CLOSES = re.compile(
    r"\b(?:anything|something|any ?one) else\b|\b(?:any|further|other|more|additional) (?:\w+ )?(?:questions?"
    r"|assistance|help|concerns?|requests?|needs?|changes)\b"
    r"|\bneed (?:any )?(?:help|assistance) (?:in the future|with anything)\b|\bassist you further\b"
    r"|\bhelp you (?:further|with today)\b"
    r"|\bfeel free to\b|\b(?:don't|do not) hesitate\b|\bhave a (?:great|good|nice|wonderful|safe|lovely"
    r"|pleasant)\b|\bin the future\b|\bchange your mind\b"
)
_PARTING = frozenset(
    "ok okay alright thanks thank thx you so much very for your the all help helping assistance time patience "
    "support bye goodbye good see later take care"
    " have a an great nice wonderful lovely day night evening weekend one too that's that is it now i appreciate "
    "this cheers"
    " perfect well awesome sounds and again really everything kindly great! done today me nothing else no more "
    "will safe trip"
    " travels i'm set fine be been was we're ciao farewell nope same to".split()
)
_GIVES_UP = frozenset(
    "never mind forget about it got gotta go leave have to stop here i'll just let's end leaving quit anyway "
    "whatever actually"
    " sorry now don't need this anymore guess not bother bothering changed my mind i've i think we can "
    "conversation chat finish"
    " am finished am leaving must run conclude over stopping".split()
)
_ASSENT = re.compile(
    r"^(?:yes|yeah|yep|sure|ok|okay|no|nope|correct|right|please|thanks|thank|great|perfect|go ahead|sounds good"
    r"|alright|certainly|of course|absolutely|that's|you)\b"
)
_SHORT = 9
"""Words: a longer turn says more than that one agrees."""
_ALIKE = 0.93
_LOOKED_BACK = 6
_COMPARED = 600
MOST_FAREWELLS = 2
"""Turns in a row that only say goodbye without ending the conversation."""


def _says_nothing(text: str) -> bool:
    """Whether a text is empty, only punctuation, or a word such as `null` that stands for nothing."""
    start, end = _MARKS.match(text), _MARKS.match(text[::-1])
    core = text[start.end() if start else 0 : len(text) - (end.end() if end else 0)]
    return not core or _NOTHING.fullmatch(core) is not None


def of_course(moment: Moment) -> Iterator[Fault]:
    """The mistakes of one who says nothing, says it again, or does not know when to stop."""
    so_far, text = moment.so_far, moment.text
    silent = _says_nothing(text)
    if so_far.over:
        yield Fault("after-end", clipped(text) if text else "")
        return
    if moment.after and not _says_nothing(moment.after) and not is_parting(moment.after):
        yield Fault("after-end", clipped(moment.after))
    if moment.ends:
        why = _too_early(text, so_far, silent=silent)
        if why:
            yield Fault("stopped-early", why)
        return
    if silent:
        yield Fault("empty", clipped(text) if text.strip() else "")
        return
    if so_far.farewells >= MOST_FAREWELLS and is_parting(text):
        yield Fault("after-end", f"{clipped(text)}, its goodbye number {so_far.farewells + 1}")
    elif _repeated(text, so_far):
        yield Fault("loops", clipped(text))


def is_parting(text: str) -> bool:
    """Whether a text only thanks and says goodbye."""
    own_words = words(text)
    return bool(own_words) and all(word in _PARTING for word in own_words)


def _too_early(text: str, so_far: SoFar, *, silent: bool) -> str:
    """Why a conversation cannot end here; empty where it can."""
    if not so_far.agent_turns:
        return "the agent has not said anything yet"
    own_words = words(text)
    last = text.strip().splitlines()[-1] if text.strip() else ""
    if last.rstrip(" *_\"'”").endswith("?") and not _CLOSES.search(plain(last)):
        return f"it asked {clipped(last)} and did not wait"
    answers = not silent and not all(w in _PARTING or w in _GIVES_UP for w in own_words)
    if answers:
        return ""
    question = _pending(so_far.agent_last)
    return f"the agent had asked {clipped(question)}" if question else ""


def _pending(text: str) -> str:
    """What the agent's last words ask of the user; empty where they ask nothing, or only whether there is more."""
    lines = [line for line in text.splitlines() if line.strip()]
    tail = " ".join(lines[-2:])
    sentences = re.split(r"(?<=[.!?])\s+", tail)[-3:]
    for sentence in reversed(sentences):
        lowered = plain(sentence)
        if _CLOSES.search(lowered):
            return ""
        if lowered.rstrip(" *_").endswith("?") or _ASKS.search(lowered):
            return sentence
    return ""


def _marked(text: str) -> set[str]:
    """The words of a text that name one thing and no other: those with digits."""
    return {word for word in text.split() if any(map(str.isdigit, word))}


def _repeated(text: str, so_far: SoFar) -> bool:
    """Whether the user said this before: the same words, unless they only agree, or nearly the same ones lately."""
    sentence = " ".join(words(text))
    size = len(sentence.split())
    short = size < 4 or (
        bool(_ASSENT.search(sentence))
        and size <= _SHORT
        and not re.search(r"\d|\bmy\b|\bi\b", sentence)
    )
    before = so_far.times[sentence]
    if before:
        return before >= 3 or not short or (before >= 2 and so_far.own[-1] == sentence)
    if short or len(sentence) > _COMPARED:
        return False
    # Comparing takes quadratic time in the worst case, so only a few turns, and no long ones, are compared.
    latest = islice(reversed(so_far.own), _LOOKED_BACK)
    return any(
        min(len(one), len(sentence)) >= 0.8 * max(len(one), len(sentence))
        # Another order number makes it another sentence, however alike the rest is.
        and _marked(one) == _marked(sentence)
        and SequenceMatcher(None, one, sentence, autojunk=False).ratio() >= _ALIKE
        for one in latest
    )
