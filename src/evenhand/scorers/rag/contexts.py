"""Whether the right passages were retrieved. These look at the passages, not at the answer: they are the output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import ScoreError, UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_whole
from evenhand.core.record import Record
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits, label_of
from evenhand.core.wording.words import count
from evenhand.scorers.rag.analysis import Analysis, Claims, known_claims
from evenhand.scorers.rag.claims import Provenance, Support
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.judge_ratings import USE, rated
from evenhand.scorers.rag.material import (
    Contexts,
    RagMetric,
    answer_in,
    contexts_of,
    passages_in,
    question_of,
    reference_of,
)
from evenhand.scorers.rag.proportions import asked_by, checked_total, nothing, proportion, these
from evenhand.scorers.rag.verdicts import Group


@dataclass(frozen=True, slots=True)
class ContextRecall(RagMetric):
    """The share of a reference's claims that the retrieved passages support, from 0 to 1.

    `expect(pages, ContextRecall("Ruby was created in 1995."), at_least=0.9)`. No passages, no reference, or one that
    claims nothing: not applicable.

    Args:
        reference: What a right answer is; what the case expects by default.
        reference_claims: What it claims; what the case stores as `reference_claims` by default, else the judge says.
        question: What was asked; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand, ragas, deepeval, eval-ruby or promptfoo.

    Raises:
        UsageError: The reference isn't text, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES, of_contexts=True)
    metric: ClassVar[str] = "context_recall"

    reference: str | None = None
    reference_claims: Claims = field(default=None, kw_only=True, hash=False)
    question: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)

    async def score(self, output: Any, trial: Trial) -> Score:
        passages = retrieved(self, output)
        if not passages:
            return nothing("there are no contexts")
        bearing = await bearing_of(self, passages, trial, only_claims=True)
        whose = definitions_for(self.metric, self.definitions)
        if not bearing.claims:
            if whose == "deepeval" and bearing.reference:
                return Score(0.0, None, "the reference claims nothing", {"definitions": whose})
            return nothing(bearing.why_nothing)
        support = bearing.support
        yes, n = support.count("supported"), len(support.claims)
        reason = f"{yes} of {n} claims of the reference supported"
        missing = these(support, "not_found")
        reason += f"; not found: {missing}" if missing else ""
        against = these(support, "contradicted")
        reason += f"; contradicted: {against}" if against else ""
        details = asked_by(bearing.found_by, support.provenance, definitions=whose)
        return proportion(
            yes, n, reason, claims=support.rows(), **checked_total(support), **details
        )


@dataclass(frozen=True, slots=True)
class ContextRelevance(RagMetric):
    """The share of the retrieved text that bears on the question, from 0 to 1, in letters and digits.

    The passages are cut into sentences by code, and the judge says which of them help to answer the question. For each
    passage its share is kept beside it. No passages or no question: not applicable.

    Args:
        question: What was asked; the case's `input` by default.
        reference: What a right answer is; what the case expects by default. It shares its judge call with the other
            metrics of contexts, and does not count here.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand, ragas, deepeval or promptfoo.

    Raises:
        UsageError: The question isn't text, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES, of_contexts=True)
    metric: ClassVar[str] = "context_relevance"

    question: str | None = None
    reference: str | None = field(default=None, kw_only=True)
    reference_claims: Claims = field(default=None, kw_only=True, hash=False)
    definitions: str = field(default="", kw_only=True)

    async def score(self, output: Any, trial: Trial) -> Score:
        passages = retrieved(self, output)
        question = question_of(self.question, trial)
        if not passages:
            return nothing("there are no contexts")
        if not question:
            return nothing("there is no question")
        whose = definitions_for(self.metric, self.definitions)
        if whose == "ragas":
            return await self._ragas(question, passages, trial)
        bearing = await bearing_of(self, passages, trial)
        shares = bearing.support.relevant
        n = sum(one.sentences for one in shares)
        if not n:
            return nothing("the contexts have no words in them")
        yes = sum(one.relevant for one in shares)
        each = [one.relevant_letters / one.letters if one.letters else 0.0 for one in shares]
        metadata = {
            "passages": [round(share, 4) for share in each],
            "best_passage": max(each),
            **asked_by(bearing.found_by, bearing.support.provenance, definitions=whose),
        }
        reason = (
            f"{yes} of {count(n, 'sentence')} {'bears' if yes == 1 else 'bear'} on the question"
        )
        if whose in ("deepeval", "promptfoo"):
            return proportion(yes, n, reason, **metadata)
        text = sum(one.relevant_letters for one in shares) / sum(one.letters for one in shares)
        return Score(text, None, reason, {"n": n, **metadata})

    async def _ragas(self, question: str, passages: tuple[str, ...], trial: Trial) -> Score:
        text = "\n".join(passages)
        if text in question:
            return Score(
                0.0, None, "the contexts are part of the question", {"definitions": "ragas"}
            )
        return await rated(USE, text, question, Analysis(trial, self.judge), "ragas")


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


async def bearing_of(
    scorer: ContextRecall | ContextRelevance | ContextPrecision,
    passages: tuple[str, ...],
    trial: Trial,
    *,
    only_claims: bool = False,
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


@dataclass(frozen=True, slots=True)
class ContextPrecision(RagMetric):
    """How many of the first k retrieved passages are useful: precision@k, or average precision, from 0 to 1.

    A passage is useful where it supports a claim of the reference; without a reference, where it bears on the question.
    Order counts as given, best first. Both numbers are kept beside each other. Precision@k divides by k, even
    where fewer were retrieved; average precision by the useful ones among the first k, or by `relevant` where it is
    known how many there are to be found (at most k). No passages, or neither reference nor question: not applicable.

    Args:
        reference: What a right answer is; what the case expects by default.
        k: How many passages count; all by default.
        ranked: Whether the number is average precision.
        relevant: How many useful passages there are in all, where that is known.
        reference_claims: What the reference claims; what the case stores by default, else the judge says.
        question: What was asked; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand, ragas, deepeval or eval-ruby.

    Raises:
        UsageError: The reference isn't text, k or `relevant` isn't a number from 1 up, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES, of_contexts=True)
    metric: ClassVar[str] = "context_precision"

    reference: str | None = None
    k: int | None = field(default=None, kw_only=True)
    ranked: bool = field(default=False, kw_only=True)
    relevant: int | None = field(default=None, kw_only=True)
    reference_claims: Claims = field(default=None, kw_only=True, hash=False)
    question: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        RagMetric.__post_init__(self)
        for name, number in (("k", self.k), ("relevant", self.relevant)):
            whole = is_whole(number)
            if number is not None and (not whole or number < 1):
                raise UsageError(f"ContextPrecision: {name} is {number!r}, not a number from 1")

    async def score(self, output: Any, trial: Trial) -> Score:
        passages = retrieved(self, output)
        if not passages:
            return nothing("there are no contexts")
        whose = definitions_for(self.metric, self.definitions)
        bearing = await bearing_of(self, passages, trial)
        if not bearing.support.passages:
            return nothing("there is neither a reference nor a question")
        by_claims = bool(bearing.claims) and whose != "eval-ruby"
        if not by_claims and not bearing.support.relevant:
            return nothing("there is no question")
        useful = (
            bearing.support.useful
            if by_claims
            else {rank for rank, one in enumerate(bearing.support.relevant, 1) if one.relevant}
        )
        k = self.k or len(passages)
        hits = [rank in useful for rank in range(1, k + 1)]
        precision, average = sum(hits) / k, average_precision(hits, self.relevant)
        how = "support the reference" if by_claims else "bear on the question"
        reason = f"{sum(hits)} of the first {k} passages {how}; average precision {average:.2f}"
        metadata = {
            "precision": precision,
            "average_precision": average,
            "useful": sorted(useful),
            "by": "reference" if by_claims else "question",
            **asked_by(bearing.found_by, bearing.support.provenance, definitions=whose),
        }
        if self.ranked or whose in ("ragas", "deepeval"):
            return Score(average, None, reason, {"n": k, **metadata})
        return proportion(sum(hits), k, reason, **metadata)

    def __str__(self) -> str:
        name = "context_average_precision" if self.ranked else self.metric
        return name if self.k is None else f"{name}@{self.k}"


@dataclass(frozen=True, slots=True)
class ContextUtilization(RagMetric):
    """The share of the retrieved passages that the answer makes use of, from 0 to 1: precision without a reference.

    A passage is used where it supports a claim of the answer. Its average precision is kept beside it. No contexts, or
    an answer that claims nothing: not applicable.

    Args:
        contexts: The retrieved passages, best first; the case's `context` by default.
        question: What was asked, to understand the answer by; the case's `input` by default.
        judge: Who judges; the set's judge by default.

    Raises:
        UsageError: The contexts aren't a list of texts, or the judge isn't a model.
    """

    metric: ClassVar[str] = "context_utilization"

    contexts: Contexts = field(default=None, hash=False)
    question: str | None = field(default=None, kw_only=True)

    async def score(self, output: Any, trial: Trial) -> Score:
        answer, passages = answer_in(output), contexts_of(self.contexts, trial)
        if not answer:
            return nothing("the answer is empty")
        if not passages:
            return nothing("there are no contexts")
        analysis = Analysis(trial, self.judge)
        statements = await analysis.statements(question_of(self.question, trial), answer)
        if not statements.claims:
            return nothing("the answer claims nothing", **asked_by(statements.provenance))
        support = await analysis.support(Group(statements.claims, passages))
        hits = [rank in support.useful for rank in range(1, len(passages) + 1)]
        average = average_precision(hits)
        reason = f"{sum(hits)} of {len(hits)} passages used; average precision {average:.2f}"
        details = asked_by(statements.provenance, support.provenance)
        return proportion(
            sum(hits),
            len(hits),
            reason,
            average_precision=average,
            used=sorted(support.useful),
            **details,
        )


def average_precision(hits: list[bool], relevant: int | None = None) -> float:
    """The mean of precision@i over the useful ranks i; 0 where there is none.

    Args:
        hits: Whether each rank is useful, best first.
        relevant: How many useful ones there are to be found; with it the sum is divided by these, at most as many as
            there are ranks.

    >>> round(average_precision([True, False, True]), 4)
    0.8333
    """
    useful, total = 0, 0.0
    for rank, hit in enumerate(hits, 1):
        if hit:
            useful += 1
            total += useful / rank
    # More passages can be useful than `relevant` says; dividing by less would give a number above 1.
    below = useful if relevant is None else max(useful, min(relevant, len(hits)))
    return total / below if below else 0.0
