"""Whether what is wrong in an answer comes from its passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.rag.analysis import Analysis, Claims, known_claims
from evenhand.scorers.rag.correctness import agreement
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.material import (
    Contexts,
    RagMetric,
    answer_in,
    contexts_of,
    question_of,
    reference_of,
)
from evenhand.scorers.rag.proportions import asked_by, nothing, proportion
from evenhand.scorers.rag.verdicts import Group


@dataclass(frozen=True, slots=True)
class NoiseSensitivity(RagMetric):
    """The share of an answer's claims that are wrong and come from the contexts, from 0 to 1: less is better.

    A claim is wrong where the reference does not support it. A passage is useful where it supports a claim of the
    reference. `passages="relevant"` counts wrong claims that a useful passage supports, `"irrelevant"` those that only
    useless ones do. No contexts or reference, or an answer that claims nothing: not applicable.

    Args:
        contexts: The retrieved passages; the case's `context` by default.
        reference: What a right answer is; what the case expects by default.
        reference_claims: What it claims; what the case stores as `reference_claims` by default, else the judge says.
        passages: Which passages' noise is counted: relevant or irrelevant.
        question: What was asked; the case's `input` by default.
        judge: Who judges; the set's judge by default.
        definitions: Whose definition: evenhand or ragas; they are the same.

    Raises:
        UsageError: The contexts aren't a list of texts, `passages` is neither, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES, lower_is_better=True)
    metric: ClassVar[str] = "noise_sensitivity"

    contexts: Contexts = field(default=None, hash=False)
    reference: str | None = field(default=None, kw_only=True)
    reference_claims: Claims = field(default=None, kw_only=True, hash=False)
    passages: Literal["relevant", "irrelevant"] = field(default="relevant", kw_only=True)
    question: str | None = field(default=None, kw_only=True)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        RagMetric.__post_init__(self)
        if self.passages not in ("relevant", "irrelevant"):
            raise UsageError(
                f"NoiseSensitivity: passages is {self.passages!r}",
                hint="Write passages='relevant' or 'irrelevant'.",
            )

    async def score(self, output: Any, trial: Trial) -> Score:
        answer, reference = answer_in(output), reference_of(self.reference, trial)
        contexts = contexts_of(self.contexts, trial)
        if not answer:
            return nothing("the answer is empty")
        if not contexts:
            return nothing("there are no contexts")
        if not reference:
            return nothing("there is no reference")
        analysis, question = Analysis(trial, self.judge), question_of(self.question, trial)
        claims, found_by = await known_claims(self.reference_claims, question, reference, analysis)
        if not claims:
            return nothing("the reference claims nothing", **asked_by(found_by))
        agreed = await agreement(analysis, question, answer, reference, claims)
        if not agreed.verdicts:
            return nothing("the answer claims nothing", **asked_by(agreed.statements.provenance))
        of_answer = await analysis.support(Group(agreed.statements.claims, contexts))
        of_reference = await analysis.bearing(question, tuple(c.text for c in claims), contexts)
        useful = of_reference.useful
        wrong: list[str] = []
        for i, claim in enumerate(agreed.statements.claims):
            behind = of_answer.supporting(i)
            from_useful = bool(behind & useful) == (self.passages == "relevant")
            if agreed.verdicts[i].stand != "supported" and behind and from_useful:
                wrong.append(claim)
        n = len(agreed.verdicts)
        reason = f"{len(wrong)} of {n} claims are wrong and come from {self.passages} passages"
        reason += f": {'; '.join(f'“{claim[:120]}”' for claim in wrong[:3])}" if wrong else ""
        details = asked_by(
            found_by,
            agreed.statements.provenance,
            agreed.support.provenance,
            definitions=definitions_for(self.metric, self.definitions),
        )
        return proportion(len(wrong), n, reason, wrong=wrong, useful=sorted(useful), **details)

    def __str__(self) -> str:
        return self.metric if self.passages == "relevant" else f"{self.metric}:{self.passages}"
