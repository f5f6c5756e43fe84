"""How many of the retrieved passages are useful, and whether the useful ones come first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.json_shapes import is_whole
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.judging import AsksJudge, Judge, check_judge
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.context_support import bearing_of, retrieved
from evenhand.scorers.rag.definitions import definitions_for, need_definitions
from evenhand.scorers.rag.material import (
    Contexts,
    answer_in,
    contexts_of,
    need_contexts,
    need_optional_text,
    question_of,
)
from evenhand.scorers.rag.proportions import asked_by, nothing, proportion
from evenhand.scorers.rag.reference_facts import Claims
from evenhand.scorers.rag.verdicts import Group


@dataclass(frozen=True, slots=True)
class ContextPrecision(AsksJudge):
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
    judge: Judge | None = field(default=None, kw_only=True, repr=False)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        need_optional_text("ContextPrecision", "reference", self.reference)
        need_optional_text("ContextPrecision", "question", self.question)
        need_definitions("ContextPrecision", self.metric, self.definitions)
        for name, count in (("k", self.k), ("relevant", self.relevant)):
            whole = is_whole(count)
            if count is not None and (not whole or count < 1):
                raise UsageError(f"ContextPrecision: {name} is {count!r}, not a number from 1")

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
class ContextUtilization(AsksJudge):
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

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES)
    metric: ClassVar[str] = "context_utilization"

    contexts: Contexts = field(default=None, hash=False)
    question: str | None = field(default=None, kw_only=True)
    judge: Judge | None = field(default=None, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        need_contexts("ContextUtilization", self.contexts)
        need_optional_text("ContextUtilization", "question", self.question)

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

    def __str__(self) -> str:
        return self.metric


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
