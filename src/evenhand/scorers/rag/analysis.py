"""What one trial's RAG metrics share: each question about its texts is put to the judge once, whoever needs the answer.

How this works: there are five questions, and each is a function of its texts alone, so that a metric comes to the same
number whichever others are asked for beside it:

    statements      what the answer says, sentence by sentence
    facts           what the reference claims and names, and the parts of the question; asked only where the dataset
                    does not store them
    support         claims × passages: of the answer and the contexts; of the answer and the reference, both ways
    bearing         the same of the reference and the contexts, and which of their sentences bear on the question; it
                    does not change when the answer does
    answered        which parts of the question the answer answers

A trial keeps them by judge and texts (`Trial.once`): the first metric that needs one asks, the others wait for it. So
ten metrics of one case come to six calls, and fewer where facts are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from evenhand.core.expect import Trial
from evenhand.core.message import Model
from evenhand.core.record import Record
from evenhand.scorers.judging import Judge, chosen_judge, lent_judge
from evenhand.scorers.rag.claims import (
    ENTITIES,
    REFERENCE_CLAIMS,
    Claim,
    ClaimVerdict,
    Entity,
    Facts,
    Parts,
    Provenance,
    Statements,
    Support,
    claims_in,
    entities_in,
)
from evenhand.scorers.rag.material import stored
from evenhand.scorers.rag.questions import find_answered, find_facts, find_statements, find_support
from evenhand.scorers.rag.sentences import sentences
from evenhand.scorers.rag.verdicts import Group

T = TypeVar("T")


class Analysis(Record, frozen=True):
    """What a judge finds in the texts of a trial."""

    trial: Trial
    judge: Judge | None = None

    async def statements(self, question: str, answer: str) -> Statements:
        """What an answer says. Of an empty one nobody is asked.

        Raises:
            JudgeError: The judge did not say it of every sentence.
        """
        numbered = sentences(answer)
        if not numbered:
            return Statements((), refusal=False, provenance=None)
        return await self._once(
            ("statements", question, answer),
            lambda model: find_statements(model, question, numbered),
        )

    async def facts(self, question: str, reference: str) -> Facts:
        """What a reference claims and names, and the parts of a question. Of empty texts nobody is asked.

        Raises:
            JudgeError: The judge did not say.
        """
        if not question and not reference:
            return Facts()
        return await self._once(
            ("facts", question, reference), lambda model: find_facts(model, question, reference)
        )

    async def support(self, *groups: Group) -> Support:
        """How passages stand to claims. Each group's claims are held against its own passages alone.

        Raises:
            JudgeError: The judge gave no verdict on some of them.
        """
        return await self._support("", groups)

    async def bearing(
        self, question: str, claims: tuple[str, ...], passages: tuple[str, ...]
    ) -> Support:
        """How passages stand to claims, and what in them bears on the question, where there is one.

        Raises:
            JudgeError: The judge gave no verdict on some of them.
        """
        return await self._support(question, (Group(claims, passages),))

    async def answered(self, question: str, sub_questions: tuple[str, ...], answer: str) -> Parts:
        """Which parts of a question an answer answers.

        Raises:
            JudgeError: The judge gave no verdict on some of them.
        """
        return await self._once(
            ("answered", question, sub_questions, answer),
            lambda model: find_answered(model, question, sub_questions, answer),
        )

    async def texts(
        self, name: str, text: str, read: Callable[[Model], Coroutine[Any, Any, T]]
    ) -> T:
        """Anything else that is asked of one text, once."""
        return await self._once((name, text), read)

    async def _support(self, question: str, groups: tuple[Group, ...]) -> Support:
        claims = any(group.claims and any(group.passages) for group in groups)
        if not claims and not (question and any(p for group in groups for p in group.passages)):
            empty = tuple(claim for group in groups for claim in group.claims)
            return Support(
                claims=empty,
                verdicts=(ClaimVerdict("not_found"),) * len(empty),
                passages=0,
                provenance=None,
            )
        return await self._once(
            ("support", question, groups), lambda model: find_support(model, question, groups)
        )

    async def _once(
        self, key: tuple[Any, ...], ask: Callable[[Model], Coroutine[Any, Any, T]]
    ) -> T:
        chosen = chosen_judge(self.judge, self.trial)
        return await self.trial.once(
            (*key, _Same(chosen)),  # another judge is another question
            lambda: ask(lent_judge(chosen, self.trial)),
        )


class _Same:
    """Tells whether two are one and the same: providers may be equal, and need have no hash."""

    __slots__ = ("one",)

    def __init__(self, one: object) -> None:
        self.one = one

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.one is self.one

    def __hash__(self) -> int:
        return id(self.one)


Claims = Sequence[str | Mapping[str, Any]] | None
"""Claims of a reference: texts, or `{"claim": …, "weight": …}`."""


async def known_claims(
    own: object, question: str, reference: str, analysis: Analysis
) -> tuple[tuple[Claim, ...], Provenance | None]:
    """The claims of the reference, and who found them; none of them where there is no reference."""
    fixed = _fixed(own, REFERENCE_CLAIMS, analysis.trial)
    if fixed is not None:
        return claims_in(fixed), None
    if not reference:
        return (), None
    facts = await analysis.facts(question, reference)
    return facts.claims or (), facts.provenance


async def known_entities(
    own: object, question: str, reference: str, analysis: Analysis
) -> tuple[tuple[Entity, ...], Provenance | None]:
    """The entities of the reference, and who found them; none of them where there is no reference."""
    fixed = _fixed(own, ENTITIES, analysis.trial)
    if fixed is not None:
        return entities_in(fixed), None
    if not reference:
        return (), None
    facts = await analysis.facts(question, reference)
    return facts.entities or (), facts.provenance


def _fixed(own: object, key: str, trial: Trial) -> object:
    return stored(trial, key) if own is None else own
