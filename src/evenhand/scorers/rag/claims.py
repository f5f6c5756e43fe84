"""What a judge finds in texts: statements, facts of a case, and what supports or contradicts them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evenhand.core.errors import ScoreError
from evenhand.core.json_shapes import is_mapping, is_number
from evenhand.core.record import Record

Topic = Literal["on", "off", "unsure"]
Stand = Literal["supported", "contradicted", "not_found"]

REFERENCE_CLAIMS, ENTITIES, SUB_QUESTIONS = "reference_claims", "entities", "sub_questions"
"""The keys of a case's metadata under which a dataset stores what is counted against."""


class Provenance(Record, frozen=True):
    """Who answered a question of an analysis, by which prompt, and words in its texts that speak to the judge."""

    judge: str
    prompt: str
    suspect: str = ""


class Statement(Record, frozen=True):
    """One thing that an answer says, in words that stand alone.

    Attributes:
        sentence: The number of the sentence that says it, from 1.
        claim: Whether it can be checked; a greeting or a refusal cannot.
        topic: Whether it is about the question; None where there was no question.
    """

    text: str
    sentence: int
    claim: bool
    topic: Topic | None


class Statements(Record, frozen=True):
    """All that an answer says.

    Attributes:
        all: In the order of the answer.
        refusal: Whether the answer declines to answer.
        provenance: Who was asked; None where nobody had to be.
    """

    all: tuple[Statement, ...]
    refusal: bool
    provenance: Provenance | None

    @property
    def claims(self) -> tuple[str, ...]:
        """The statements that can be checked, each once."""
        return tuple(dict.fromkeys(one.text for one in self.all if one.claim))


class Claim(Record, frozen=True):
    """One thing that a right answer says, and how much it counts."""

    text: str
    weight: float = 1.0


class Entity(Record, frozen=True):
    """Something that a right answer names, with its other names."""

    name: str
    aliases: tuple[str, ...] = ()


class Facts(Record, frozen=True):
    """What is counted against: known of a case before anything is answered. None is not asked for, or not known."""

    claims: tuple[Claim, ...] | None = None
    entities: tuple[Entity, ...] | None = None
    sub_questions: tuple[str, ...] | None = None
    provenance: Provenance | None = None


class RankedPassage(Record, frozen=True):
    """A passage, by its rank from 1, and its words."""

    passage: int
    quote: str


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """How the passages stand to one claim.

    Attributes:
        stand: Supported, contradicted, or not found in them.
        evidence: Where; its quotes were looked up, and stand there.
        unverified: The judge said otherwise, but its quotes stand nowhere: the claim counts as not found.
    """

    stand: Stand
    evidence: tuple[RankedPassage, ...] = ()
    reasoning: str = field(default="", compare=False)
    unverified: bool = False


class Support(Record, frozen=True, kw_only=True):
    """How passages stand to claims, claim by claim.

    Attributes:
        claims: As asked.
        verdicts: One for each.
        passages: How many passages there were.
        provenance: Who was asked; None where nobody had to be.
        relevant: For each passage, its sentences that bear on the question, and its number of sentences; empty where
            there was no question.
        judge_share: A number that the judge gave of its own; never used.
    """

    claims: tuple[str, ...]
    verdicts: tuple[ClaimVerdict, ...]
    passages: int
    provenance: Provenance | None
    relevant: tuple[RelevantSentences, ...] = ()
    judge_share: float | None = None

    def count(self, stand: Stand) -> int:
        """How many claims stand so."""
        return sum(verdict.stand == stand for verdict in self.verdicts)

    def supporting(self, claim: int) -> frozenset[int]:
        """The ranks of the passages that support a claim, from 1."""
        verdict = self.verdicts[claim]
        if verdict.stand != "supported":
            return frozenset()
        return frozenset(evidence.passage for evidence in verdict.evidence)

    @property
    def useful(self) -> frozenset[int]:
        """The ranks of the passages that support any claim, from 1."""
        return frozenset().union(*(self.supporting(i) for i in range(len(self.claims))))

    def rows(self) -> list[dict[str, Any]]:
        """What is kept of it: for each claim its verdict, where it stands, and why."""
        return [
            {
                "claim": claim,
                "verdict": verdict.stand,
                **(
                    {"evidence": [[one.passage, one.quote] for one in verdict.evidence]}
                    if verdict.evidence
                    else {}
                ),
                **({"reasoning": verdict.reasoning} if verdict.reasoning else {}),
                **({"unverified": True} if verdict.unverified else {}),
            }
            for claim, verdict in zip(self.claims, self.verdicts, strict=True)
        ]


class RelevantSentences(Record, frozen=True):
    """The sentences of one passage that bear on the question.

    Attributes:
        sentences: How many it has.
        relevant: How many bear on the question.
        letters: Its length in letters and digits.
        relevant_letters: The length of those that do.
    """

    sentences: int
    relevant: int
    letters: int
    relevant_letters: int


class Parts(Record, frozen=True):
    """Which parts of a question an answer answers: each part with the verdict and the reasoning."""

    parts: tuple[tuple[str, bool, str], ...]
    provenance: Provenance | None


def claims_in(stored: object, key: str = REFERENCE_CLAIMS) -> tuple[Claim, ...]:
    """Stored claims: texts, or objects with `claim` (or `text`) and perhaps `weight`.

    Raises:
        ScoreError: Something else is stored.
    """
    claims: dict[str, Claim] = {}
    for one in _list(stored, key):
        text, weight = one, 1.0
        if isinstance(one, Mapping):
            text, weight = one.get("claim", one.get("text")), one.get("weight", 1.0)
        number = is_number(weight)
        if not isinstance(text, str) or not text.strip() or not number or not 0 < weight < math.inf:
            raise _unusable(key, one, '["…", "…"], or [{"claim": "…", "weight": 2}]')
        claims.setdefault(text.strip(), Claim(text.strip(), float(weight)))
    return tuple(claims.values())


def entities_in(stored: object) -> tuple[Entity, ...]:
    """Stored entities: names, objects with `name` and `aliases`, or one object of names with their aliases.

    Raises:
        ScoreError: Something else is stored.
    """
    if is_mapping(stored):
        names = stored
        stored = [{"name": name, "aliases": aliases} for name, aliases in names.items()]
    entities: dict[str, Entity] = {}
    for one in _list(stored, ENTITIES):
        name, aliases = one, ()
        if isinstance(one, Mapping):
            name, aliases = one.get("name"), one.get("aliases") or ()
        usable = isinstance(aliases, Sequence) and not isinstance(aliases, str)
        if not isinstance(name, str) or not name.strip() or not usable:
            raise _unusable(ENTITIES, one, '["…"], or [{"name": "…", "aliases": ["…"]}]')
        texts = tuple(str(alias).strip() for alias in aliases)
        entities.setdefault(name.strip(), Entity(name.strip(), tuple(filter(None, texts))))
    return tuple(entities.values())


def sub_questions_in(stored: object) -> tuple[str, ...]:
    """Stored sub-questions: texts.

    Raises:
        ScoreError: Something else is stored.
    """
    for one in _list(stored, SUB_QUESTIONS):
        if not isinstance(one, str) or not one.strip():
            raise _unusable(SUB_QUESTIONS, one, '["…?", "…?"]')
    return tuple(dict.fromkeys(str(one).strip() for one in _list(stored, SUB_QUESTIONS)))


def _list(stored: object, key: str) -> Sequence[Any]:
    if isinstance(stored, (list, tuple)):
        return stored
    raise _unusable(key, stored, 'a list, ["…", "…"]')


def _unusable(key: str, value: object, write: str) -> ScoreError:
    return ScoreError(f"{key} has {str(value)[:100]!r} in it", hint=f"Write {write}.")
