"""Whether a turn gives away what only the simulator knows: its thoughts, its instructions, what it must not say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from evenhand.doors.conversations.fault import Fault, clipped
from evenhand.doors.conversations.rules.moment import Moment, plain, words

_THINKING = re.compile(
    r"<\s*/?\s*(?:think|thinking|thought|reasoning|analysis|scratchpad|reflection|plan|inner_monologue)\b[^>]*>"
    r"|(?:^|\n|[.!?] )[\s*_(\[]*(?:thoughts?|thinking|reasoning|analysis|plan|internal(?: monologue| thoughts?)?"
    r"|inner (?:monologue|thoughts?)|rationale|chain of thought|note to self|strategy"
    r"|planning)[*_]*\s*(?:\([^)]{0,30}\))?\s*[:–—]"
    r"|[(\[*](?:thinking|thinks|internally|to (?:my|him|her|them)sel(?:f|ves)|aside|internal)\b"
    r"|\blet me think\b|\bthinking (?:about it |this )?(?:step by step|through)\b|\bstep by step\b"
    r"|\bas (?:the|a|this) (?:simulated )?(?:user|customer|client|caller|passenger|persona)\b,? (?:i|my|who)\b"
    r"|\bthe (?:user|customer|client|caller|persona|character) (?:i am playing|i'm playing|wants|want|would"
    r"|should|needs|is (?:asking|supposed|trying|looking)|must|has to|does not|doesn't|will|might)\b"
    r"|\bthe (?:agent|assistant) (?:is|was|has|just|now|asked|asks|wants|needs|seems|will|should|wrote|said"
    r"|offered|already|keeps|may|might|did|still)\b.{0,160}\b(?:so i|i should|i need to|i will|i'll|i must"
    r"|i can now|my (?:next|reply|response|answer)|i have to)\b"
    r"|\bi (?:should|need to|must|have to|will|am going to|'ll|can) (?:now |next |then |just |probably "
    r"|also )*(?:respond|reply|answer) (?:as|with|by|in|to (?:the agent|this|that)|like)\b"
    r"|\bi (?:should|need to|must|have to) (?:now |next |then |still |only |not )*(?:pretend|stay in character"
    r"|remain in character|act as|play|reveal|disclose|withhold|avoid (?:revealing|mentioning|giving)|keep (?:my"
    r"|the) (?:answer|reply|response)s? short|be (?:terse|persistent|reactive))\b"
    r"|\bmy next (?:message|response|reply|turn|move|step)\b|\bi'll (?:respond|reply|answer) (?:as|with|by)\b"
    r"|\b(?:stay|staying|remain|remaining|keep|keeping) in (?:character|role)\b"
    r"|\b(?:ok(?:ay)?|alright|hmm+),? (?:so )?the (?:agent|assistant) (?:is|wants|asked|needs|has)\b"
    r"|\b(?:first|next|now),? i (?:should|need to|must|have to) (?:provide|mention|give|ask|tell|say|confirm"
    r"|answer|decline|insist)\b.{0,60}\b(?:agent|assistant|them|him|her)\b"
)
_RECITING = re.compile(
    r"\b(?:my|the|these|your) (?:instructions?|prompt|scenario|persona|script|role description|system message"
    r"|task description|guidelines)\b.{0,24}\b(?:is|are|says?|said|tells?|told|states?|requires?|reads?|was|were"
    r"|mentions?|specif(?:y|ies)|don't|do not|doesn't)\b"
    r"|\baccording to (?:my|the|these) (?:instructions?|prompt|scenario|persona|script|role|guidelines|profile)\b"
    r"|\b(?:i was|i am|i'm|i've been|i have been|been) (?:told|instructed|prompted|programmed|given instructions"
    r"|given the role|asked|assigned|supposed|meant|configured) (?:to|not to|that) (?:say|act|pretend|play"
    r"|be (?:a|an|the|terse|persistent|reactive|calm|polite)|not|never|only|simulate|insist|test|request|mention"
    r"|ask|answer|stay|keep|behave|respond|reveal|provide|want|book|cancel|get)\b"
    r"|\b(?:my|the) (?:goal|objective|task|mission|role|job)(?: here| now| in this (?:conversation|scenario|test"
    r"|simulation))? (?:is|was|says) (?:to|that|as)\b"
    r"|\b(?:my|the|this) (?:persona|role ?description|user profile says)\b|\bsystem prompt\b"
    r"|\brole[- ]?play(?:ing)?\b|\bsimulat(?:ed|ion|or|ing)\b.{0,30}\b(?:user|customer|conversation|agent"
    r"|test)\b|\b(?:user|customer|this is a|conversation) simulat(?:ed|ion|or)\b"
    r"|\b(?:this|it) is (?:just |only )?(?:a|part of a) (?:test|simulation|benchmark|evaluation|role)\b|\bi(?:'m"
    r"| am) (?:here to test|testing|evaluating|a test user|a tester)\b"
    r"|\bhidden (?:goal|objective|instruction)|\bmy (?:secret|hidden|real|true) (?:goal|objective|instructions?"
    r"|task)\b"
    r"|\b(?:here (?:is|are)|repeat) (?:my|the) (?:full |complete |exact )?(?:instructions?|prompt|scenario)\b"
    r"|\b(?:goal|instructions?|persona|facts|scenario|never says?|rules)\s*:\s*(?:you|the user|\{|-|\n)"
)
_YOU = frozenset({"you", "your", "you're", "yours", "yourself", "you'd", "you'll", "you've"})
_RUN = 6
_LONG_RUN = 18
_SMALL = frozenset(
    "a an and are as at be but by do for from had has have i if in is it my me no not of on or so that the this "
    "to was we"
    " were will with you your am don't i'm it's can".split()
)


def of_leaks(moment: Moment) -> Iterator[Fault]:
    """The mistakes of one who thinks aloud, recites what it was told, or says what it must not."""
    text = plain(moment.text)
    # Not `plain` text, which has no line breaks: some of these words count only where a line begins.
    thinking = _THINKING.search(moment.text.replace("’", "'").lower())
    if thinking:
        yield Fault("leaked-reasoning", clipped(moment.text[thinking.start() :]))
    reciting = _RECITING.search(text)
    if reciting:
        yield Fault("leaked-goal", clipped(text[reciting.start() : reciting.end() + 40]))
    else:
        recited = _recited(text, moment.contract.goal)
        if recited:
            yield Fault("leaked-goal", clipped(recited))
    for phrase in moment.contract.never_says:
        if _says(text, phrase):
            yield Fault("said-forbidden", clipped(phrase))


def _recited(text: str, goal: str) -> str:
    """Words of the goal that the text repeats as they are addressed to the one who plays; empty for none."""
    own_words = words(text)
    addressed, long = _runs(goal)
    for at in range(len(own_words) - _RUN + 1):
        run = tuple(own_words[at : at + _RUN])
        if run in addressed:
            return " ".join(run)
    for at in range(len(own_words) - _LONG_RUN + 1):
        run = tuple(own_words[at : at + _LONG_RUN])
        if run in long:
            return " ".join(run)
    return ""


@lru_cache(maxsize=256)
def _runs(goal: str) -> tuple[frozenset[tuple[str, ...]], frozenset[tuple[str, ...]]]:
    """The runs of words of a goal: short ones that speak to the one who plays, and long ones."""
    goal_words = words(goal)
    short = (tuple(goal_words[i : i + _RUN]) for i in range(len(goal_words) - _RUN + 1))
    long = (tuple(goal_words[i : i + _LONG_RUN]) for i in range(len(goal_words) - _LONG_RUN + 1))
    return frozenset(run for run in short if not _YOU.isdisjoint(run)), frozenset(long)


def _says(text: str, phrase: str) -> bool:
    """Whether a text says a phrase: word for word, or nearly all of what carries its meaning in one sentence."""
    phrase_words = words(phrase)
    if not phrase_words:
        return False
    own, size = list(words(text)), len(phrase_words)
    if any(own[i : i + size] == list(phrase_words) for i in range(len(own) - size + 1)):
        return True
    content = {word for word in phrase_words if word not in _SMALL}
    if len(content) < 3:
        return False
    for sentence in re.split(r"[.!?\n]+", text):
        if len(content.intersection(words(sentence))) >= 0.75 * len(content):
            return True
    return False
