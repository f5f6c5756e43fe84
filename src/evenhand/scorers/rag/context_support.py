"""How retrieved passages stand to a reference and to a question: what the metrics of contexts are counted from."""

from __future__ import annotations

from typing import Protocol

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.record import Record
from evenhand.core.traits import label_of
from evenhand.scorers.judging import Judge
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.claims import Provenance, Support
from evenhand.scorers.rag.material import passages_in, question_of, reference_of
from evenhand.scorers.rag.reference_facts import Claims, known_claims


def retrieved(scorer: object, output: object) -> tuple[str, ...]:
    """The passages that a metric of contexts looks at.

    Raises:
        ScoreError: They are one text: perhaps the answer, which would be scored as if it had been retrieved.
    """
    if isinstance(output, str):
        raise ScoreError(
            f"{label_of(scorer)} looks at the retrieved passages, and this is one text",
            hint=f"Write expect(pages, {type(scorer).__name__}(…)), with a list of them.",
        )
    return passages_in(output)


class Bearing(Record, frozen=True):
    """How passages stand to the reference's claims and to the question."""

    claims: tuple[str, ...]
    reference: str
    support: Support
    found_by: Provenance | None

    @property
    def why_nothing(self) -> str:
        return "the reference claims nothing" if self.reference else "there is no reference"


class OfContexts(Protocol):
    """A metric of passages, as far as its texts are concerned."""

    @property
    def question(self) -> str | None: ...
    @property
    def reference(self) -> str | None: ...
    @property
    def reference_claims(self) -> Claims: ...
    @property
    def judge(self) -> Judge | None: ...


async def bearing_of(
    scorer: OfContexts, passages: tuple[str, ...], trial: Trial, *, only_claims: bool = False
) -> Bearing:
    """How the passages of a metric stand to its reference and its question.

    Args:
        only_claims: Where the reference claims nothing, nobody is asked.
    """
    question = question_of(scorer.question, trial)
    reference = reference_of(scorer.reference, trial)
    analysis = Analysis(trial, scorer.judge)
    claims, found_by = await known_claims(scorer.reference_claims, question, reference, analysis)
    texts = tuple(claim.text for claim in claims)
    if not texts and only_claims:
        return Bearing(
            (), reference, Support(claims=(), verdicts=(), passages=0, provenance=None), found_by
        )
    support = await analysis.bearing(question, texts, passages)
    return Bearing(texts, reference, support, found_by)
