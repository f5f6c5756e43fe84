"""How an answer and its reference stand to each other, claim by claim: what correctness and noise are counted from."""

from __future__ import annotations

from dataclasses import replace

from evenhand.core.record import Record
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.claims import Claim, ClaimVerdict, Statements, Support
from evenhand.scorers.rag.verdicts import Group


class Agreement(Record, frozen=True):
    """How an answer's claims stand to the reference, and the reference's claims to the answer.

    Attributes:
        statements: The answer's.
        support: All verdicts: the answer's claims first.
        claims: The reference's.
    """

    statements: Statements
    support: Support
    claims: tuple[Claim, ...]

    @property
    def verdicts(self) -> tuple[ClaimVerdict, ...]:
        """On the answer's claims."""
        return self.support.verdicts[: len(self.statements.claims)]

    @property
    def of_answer(self) -> Support:
        """The answer's part of the verdicts."""
        return replace(self.support, claims=self.statements.claims, verdicts=self.verdicts)

    @property
    def precision(self) -> float | None:
        """Supported claims of the answer / claims of the answer; None without any."""
        n = len(self.verdicts)
        return self.of_answer.count("supported") / n if n else None

    @property
    def recalled(self) -> int:
        """How many claims of the reference the answer supports."""
        return sum(verdict.stand == "supported" for verdict in self._recall)

    @property
    def missed(self) -> int:
        """How many it does not."""
        return len(self.claims) - self.recalled

    @property
    def recall(self) -> float:
        """The weight of the reference's claims that the answer supports / the weight of all; 0 without any."""
        total = sum(claim.weight for claim in self.claims)
        got = sum(
            claim.weight
            for claim, verdict in zip(self.claims, self._recall, strict=True)
            if verdict.stand == "supported"
        )
        return got / total if total else 0.0

    @property
    def contradicted(self) -> int:
        """How many claims of the answer contradict the reference."""
        return self.of_answer.count("contradicted")

    @property
    def _recall(self) -> tuple[ClaimVerdict, ...]:
        return self.support.verdicts[len(self.statements.claims) :]


async def agreement(
    analysis: Analysis, question: str, answer: str, reference: str, claims: tuple[Claim, ...]
) -> Agreement:
    """How an answer and its reference stand to each other, claim by claim.

    Where only the claims of the reference are stored, they are the reference.
    """
    statements = await analysis.statements(question, answer)
    texts = tuple(claim.text for claim in claims)
    behind = reference or "\n".join(texts)
    # Both directions are one question to the judge, so that they cost one call.
    support = await analysis.support(Group(statements.claims, (behind,)), Group(texts, (answer,)))
    return Agreement(statements, support, claims)


def f_score(precision: float, recall: float, beta: float = 1.0) -> float:
    """Fβ: the harmonic mean of precision and recall, recall counting β times as much; 0 where both are 0.

    Source: van Rijsbergen, Information Retrieval (1979), ch. 7.

    >>> round(f_score(0.5, 1.0), 4)
    0.6667
    """
    weight = beta * beta
    below = weight * precision + recall
    return (1 + weight) * precision * recall / below if below else 0.0
