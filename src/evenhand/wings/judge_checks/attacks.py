"""Attacks on a judge: what each makes of an answer, and of which answers.

Each is a pure function of an answer, the criteria and a turn, which only chooses among wordings: the same probe asks
the same questions, so that the cache answers when it is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from evenhand.core.record import Record
from evenhand.wings.judge_checks import wordings
from evenhand.wings.judge_checks.wordings import pick

Base = Literal["bad", "any", "good"]
"""What an attack starts from: an answer that should fail, no answer at all, an answer that should pass."""

Make = Callable[[str, str, int], str]
"""The text to judge, made of an answer, the criteria in words, and a turn, from 0."""

VERSION = 1
"""Of what the attacks make of an answer. Another one is another probe."""

FEWEST_WORDS = 8
"""A passing answer of fewer words isn't truncated: what is left of it may still be right."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+")


class Attack(Record, frozen=True):
    """One kind of attack, or a control.

    Attributes:
        base: The answers that it starts from.
        make: What is judged in place of the answer.
    """

    kind: str
    base: Base
    make: Make


def _constant(_answer: str, _criteria: str, turn: int) -> str:
    return " ".join(pick(wordings.CONSTANT, turn))


def _empty(_answer: str, _criteria: str, turn: int) -> str:
    return wordings.EMPTY[turn % len(wordings.EMPTY)]


def _after(words: tuple[tuple[str, ...], tuple[str, ...]]) -> Make:
    """Puts sentences behind the answer."""
    return lambda answer, _criteria, turn: f"{answer}\n\n{' '.join(pick(words, turn))}"


def _length(answer: str, _criteria: str, turn: int) -> str:
    sentences = wordings.PADDING
    start = turn % len(sentences)
    ordered = (*sentences[start:], *sentences[:start])
    turned = " ".join(ordered if turn < len(sentences) else ordered[::-1])
    # Long beside the answer, however long that is.
    times = max(1, len(answer) * 4 // len(turned))
    return "\n\n".join([answer, *[turned] * times])


def _markup(answer: str, _criteria: str, turn: int) -> str:
    heading = wordings.HEADINGS[turn % len(wordings.HEADINGS)]
    aspects = wordings.ASPECTS[(turn // len(wordings.HEADINGS) + turn) % len(wordings.ASPECTS)]
    rows = "\n".join(f"| **{aspect}** | ✅ |" for aspect in aspects)
    return f"# {heading}\n\n**{answer}**\n\n| Aspect | Status |\n| --- | --- |\n{rows}"


def _echo(answer: str, criteria: str, turn: int) -> str:
    first, last = pick(wordings.ECHO, turn)
    return f"{answer}\n\n{first} {criteria}\n{last}"


def _language(answer: str, _criteria: str, turn: int) -> str:
    languages = wordings.LANGUAGES
    first, last = pick(languages[turn % len(languages)], turn // len(languages))
    return f"{first}\n\n{answer}\n\n{last}"


def _paraphrase(answer: str, _criteria: str, turn: int) -> str:
    """The sentences of the answer, joined by phrases that add nothing; its claims and its words stay."""
    first, last = pick(wordings.PARAPHRASE, turn)
    begin, *others = _SENTENCE.split(answer.strip())
    joints = wordings.JOINTS
    more = [
        joints[(turn + place) % len(joints)] + _lowered(sentence)
        for place, sentence in enumerate(others)
    ]
    return " ".join([first + _lowered(begin), *more, last])


def _truncated(answer: str, _criteria: str, turn: int) -> str:
    """The first words: three at least, between an eighth and a quarter of them."""
    words = answer.split()
    fewest = max(3, len(words) // 8)
    most = max(fewest, len(words) // 4)
    return " ".join(words[: fewest + turn % (most - fewest + 1)])


def _unchanged(answer: str, _criteria: str, _turn: int) -> str:
    return answer


def _whitespace(answer: str, _criteria: str, turn: int) -> str:
    before, after = "\n" * (turn % 3), " " * (turn % 4)
    return f"{before}{answer.strip()}{after}\n\n"


def _lowered(sentence: str) -> str:
    """A sentence to be put behind others: its first letter small, where that is no name or abbreviation."""
    word = sentence.split(maxsplit=1)[0] if sentence.strip() else ""
    plain = word == "A" or (word.isalpha() and word[1:].islower())
    return sentence[0].lower() + sentence[1:] if plain else sentence


ATTACKS: Mapping[str, Attack] = {
    attack.kind: attack
    for attack in (
        Attack("constant", "any", _constant),
        Attack("instructions", "bad", _after(wordings.INSTRUCTIONS)),
        Attack("reference", "bad", _after(wordings.REFERENCE)),
        Attack("authority", "bad", _after(wordings.AUTHORITY)),
        Attack("length", "bad", _length),
        Attack("empty", "any", _empty),
        Attack("praise", "bad", _after(wordings.PRAISE)),
        Attack("markup", "bad", _markup),
        Attack("echo", "bad", _echo),
        Attack("language", "bad", _language),
        Attack("paraphrase", "bad", _paraphrase),
        Attack("truncated", "good", _truncated),
    )
}
"""The twelve kinds, by name."""

NO_ATTACK = Attack("none", "bad", _unchanged)
"""A bad answer as it is: what the attacks on it are compared with."""

CONTROLS = (Attack("unchanged", "good", _unchanged), Attack("whitespace", "good", _whitespace))
"""Good answers, as they are or with changes that don't matter: they must pass."""
