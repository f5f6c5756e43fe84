"""Whether an answer keeps to what was retrieved."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from evenhand.core.expect import Trial
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.rag.analysis import Analysis
from evenhand.scorers.rag.claims import Statements, Support
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.material import Contexts, RagMetric, answer_in, contexts_of, question_of
from evenhand.scorers.rag.proportions import asked_by, checked_total, nothing, proportion, these
from evenhand.scorers.rag.verdicts import Group


@dataclass(frozen=True, slots=True)
class _OfClaims(RagMetric):
    """What both are counted from: how the contexts stand to the answer's claims."""

    metric: ClassVar[str]

    contexts: Contexts = field(default=None, hash=False)
    question: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)

    async def checked(self, output: Any, trial: Trial) -> tuple[Statements, Support] | str:
        """What the answer says and how the contexts stand to it; or why that does not apply."""
        answer, contexts = answer_in(output), contexts_of(self.contexts, trial)
        if not answer:
            return "the answer is empty"
        if not contexts:
            return "there are no contexts"
        analysis = Analysis(trial, self.judge)
        statements = await analysis.statements(question_of(self.question, trial), answer)
        return statements, await analysis.support(Group(statements.claims, contexts))


@dataclass(frozen=True, slots=True)
class Faithfulness(_OfClaims):
    """The share of an answer's claims that its contexts support, from 0 to 1.

    Each claim is supported, contradicted or not found; the judge has to quote the passage, and a quote that does not
    stand there supports nothing. `contradiction_rate` and `unsupported_rate` are counted beside it. An answer that
    claims nothing, or no contexts: not applicable.

    Args:
        contexts: The retrieved passages; the case's `context` by default.
        question: What was asked, to understand the answer by; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand, ragas, deepeval, eval-ruby or promptfoo.

    Raises:
        UsageError: The contexts aren't a list of texts, or the judge isn't a model.
    """

    metric: ClassVar[str] = "faithfulness"

    async def score(self, output: Any, trial: Trial) -> Score:
        checked = await self.checked(output, trial)
        if isinstance(checked, str):
            return nothing(checked)
        statements, support = checked
        whose = definitions_for(self.metric, self.definitions)
        n = len(support.claims)
        if not n and whose == "deepeval":
            return Score(
                1.0, None, "it claims nothing", asked_by(statements.provenance, definitions=whose)
            )
        if not n:
            return _claims_nothing(statements)
        contradicted = support.count("contradicted")
        yes = n - contradicted if whose == "deepeval" else support.count("supported")
        return _scored(yes, n, statements, support, whose)


@dataclass(frozen=True, slots=True)
class Hallucination(_OfClaims):
    """The share of an answer's claims that its contexts do not support, from 0 to 1: less is better.

    It is 1 − `Faithfulness`, from the same verdicts; `contradiction_rate` is the part of it that the contexts
    contradict. An answer that claims nothing, or no contexts: not applicable.

    Args:
        contexts: The retrieved passages; the case's `context` by default.
        question: What was asked, to understand the answer by; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand or deepeval.

    Raises:
        UsageError: The contexts aren't a list of texts, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES, lower_is_better=True)
    metric: ClassVar[str] = "hallucination"

    async def score(self, output: Any, trial: Trial) -> Score:
        checked = await self.checked(output, trial)
        if isinstance(checked, str):
            return nothing(checked)
        statements, support = checked
        if not support.claims:
            return _claims_nothing(statements)
        whose = definitions_for(self.metric, self.definitions)
        if whose == "deepeval":
            against = {
                evidence.passage
                for verdict in support.verdicts
                if verdict.stand == "contradicted"
                for evidence in verdict.evidence
            }
            reason = f"{len(against)} of {support.passages} passages are contradicted"
            details = asked_by(statements.provenance, support.provenance, definitions=whose)
            return proportion(
                len(against), support.passages, reason, claims=support.rows(), **details
            )
        n = len(support.claims)
        return _scored(n - support.count("supported"), n, statements, support, whose)


def _scored(yes: int, n: int, statements: Statements, support: Support, whose: str) -> Score:
    contradicted, missing = support.count("contradicted"), support.count("not_found")
    reason = f"{support.count('supported')} of {n} claims supported"
    if contradicted:
        reason += f", {contradicted} contradicted: {these(support, 'contradicted')}"
    if missing:
        reason += f", {missing} not found: {these(support, 'not_found')}"
    metadata = {
        "contradiction_rate": contradicted / n,
        "unsupported_rate": missing / n,
        "claims": support.rows(),
        **checked_total(support),
        **asked_by(statements.provenance, support.provenance, definitions=whose),
    }
    return proportion(yes, n, reason, **metadata)


def _claims_nothing(statements: Statements) -> Score:
    reason = "the answer declines to answer" if statements.refusal else "the answer claims nothing"
    return nothing(reason, refusal=statements.refusal, **asked_by(statements.provenance))
