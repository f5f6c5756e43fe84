"""Whether an answer says what a right answer says."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.score import Score
from evenhand.scorers.constructor_checks import need_number
from evenhand.scorers.rag.analysis import Analysis, Claims, known_claims
from evenhand.scorers.rag.claims import Claim, ClaimVerdict, Statements, Support
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.judge_ratings import CORRECTNESS, rated
from evenhand.scorers.rag.material import RagMetric, answer_in, question_of, reference_of
from evenhand.scorers.rag.proportions import asked_by, nothing, these
from evenhand.scorers.rag.similarity import Embedder, cosine, embeddings
from evenhand.scorers.rag.verdicts import Group


@dataclass(frozen=True, slots=True)
class Correctness(RagMetric):
    """How far an answer and its reference claim the same: Fβ of precision and recall over claims, from 0 to 1.

    Precision is the share of the answer's claims that the reference supports, recall the (weighted) share of the
    reference's claims that the answer supports; both, and how many claims contradict the reference, are kept beside it.
    An answer that claims nothing recalls nothing: 0. No reference, one that claims nothing, or an empty answer: not
    applicable.

    Args:
        reference: What a right answer is; what the case expects by default.
        reference_claims: What it claims; what the case stores as `reference_claims` by default, else the judge says.
        beta: How many times as much recall counts as precision.
        veto: Whether a claim that contradicts the reference fails the expectation, whatever the number.
        question: What was asked; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand, ragas or eval-ruby.
        embedder: What makes embeddings, for ragas' definition.

    Raises:
        UsageError: The reference isn't text, beta is not above 0, or the judge isn't a model.
    """

    metric: ClassVar[str] = "correctness"

    reference: str | None = None
    reference_claims: Claims = field(default=None, kw_only=True, hash=False)
    beta: float = field(default=1.0, kw_only=True)
    veto: bool = field(default=False, kw_only=True)
    question: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)
    embedder: Embedder | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        RagMetric.__post_init__(self)
        need_number("Correctness", "beta", self.beta, (0.01, 100))

    async def score(self, output: Any, trial: Trial) -> Score:
        answer, reference = answer_in(output), reference_of(self.reference, trial)
        if not answer:
            return nothing("the answer is empty")
        analysis = Analysis(trial, self.judge)
        whose = definitions_for(self.metric, self.definitions)
        if whose == "eval-ruby" and reference:
            return await rated(CORRECTNESS, answer, reference, analysis, whose)
        question = question_of(self.question, trial)
        claims, found_by = await known_claims(self.reference_claims, question, reference, analysis)
        if not claims and not (whose == "ragas" and reference):
            return nothing("the reference claims nothing" if reference else "there is no reference")
        agreed = await agreement(analysis, question, answer, reference, claims)
        details = asked_by(
            found_by, agreed.statements.provenance, agreed.support.provenance, definitions=whose
        )
        precision, recall = agreed.precision, agreed.recall
        rows = agreed.support.rows()
        metadata = {
            "recall": recall,
            **({} if precision is None else {"precision": precision}),
            "contradictions": agreed.contradicted,
            "n": len(agreed.verdicts) + len(claims),
            "claims": rows[: len(agreed.verdicts)],
            "reference_claims": rows[len(agreed.verdicts) :],
            **details,
        }
        if whose == "ragas":
            return await self._ragas(answer, reference, agreed, metadata, trial)
        value = f_score(precision or 0.0, recall, self.beta)
        reason = (
            f"recall {recall:.2f}, precision {'–' if precision is None else f'{precision:.2f}'}"
        )
        wrong = these(agreed.of_answer, "contradicted")
        reason += f"; contradicts the reference: {wrong}" if wrong else ""
        vetoed = self.veto and agreed.contradicted > 0
        return Score(value, False if vetoed else None, reason, metadata)

    async def _ragas(
        self, answer: str, reference: str, agreed: Agreement, metadata: dict[str, Any], trial: Trial
    ) -> Score:
        true = agreed.of_answer.count("supported")
        false = len(agreed.verdicts) - true
        missed = agreed.missed
        f1 = 2 * true / (2 * true + false + missed) if true + false + missed else 0.0
        if not agreed.verdicts or not agreed.recalled + missed:
            f1 = 1.0
        name, (one, other) = await embeddings(self.embedder, trial, [answer, reference])
        near = cosine(one, other)
        reason = f"0.75 · F1 {f1:.2f} + 0.25 · cosine {near:.2f}"
        return Score(
            0.75 * f1 + 0.25 * near, None, reason, {**metadata, "f1": f1, "embedder": name}
        )

    def __str__(self) -> str:
        return self.metric if self.beta == 1 else f"{self.metric}:F{self.beta:g}"


class Agreement(Record, frozen=True):
    """How an answer's claims stand to the reference, and the reference's claims to the answer.

    Attributes:
        support: All verdicts: the answer's claims first.
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
