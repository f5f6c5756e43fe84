"""Whether the right passages were retrieved. These look at the passages, not at the answer: they are the output."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.expect import Trial
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.judging import AsksJudge, Judge, check_judge
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.context_support import bearing_of, retrieved
from evenhand.scorers.rag.definitions import definitions_for, need_definitions
from evenhand.scorers.rag.judge_ratings import USE, rated
from evenhand.scorers.rag.material import need_optional_text, question_of
from evenhand.scorers.rag.proportions import asked_by, checked_total, nothing, proportion, these
from evenhand.scorers.rag.reference_facts import Claims


@dataclass(frozen=True, slots=True)
class ContextRecall(AsksJudge):
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
    judge: Judge | None = field(default=None, kw_only=True, repr=False)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        need_optional_text("ContextRecall", "reference", self.reference)
        need_optional_text("ContextRecall", "question", self.question)
        need_definitions("ContextRecall", self.metric, self.definitions)

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

    def __str__(self) -> str:
        return self.metric


@dataclass(frozen=True, slots=True)
class ContextRelevance(AsksJudge):
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
    judge: Judge | None = field(default=None, kw_only=True, repr=False)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        check_judge(self.judge)
        need_optional_text("ContextRelevance", "question", self.question)
        need_optional_text("ContextRelevance", "reference", self.reference)
        need_definitions("ContextRelevance", self.metric, self.definitions)

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
        reason = f"{yes} of {n} sentences bear on the question"
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

    def __str__(self) -> str:
        return self.metric
