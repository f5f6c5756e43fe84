"""What a summary keeps, what it makes up, and how short it is: three numbers, and no blend of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from evenhand.core.errors import UsageError
from evenhand.core.expect import Trial
from evenhand.core.score import SHARES, Score
from evenhand.core.traits import Traits
from evenhand.scorers.rag.analysis import Analysis, Claims, known_claims
from evenhand.scorers.rag.definitions import definitions_for
from evenhand.scorers.rag.faithfulness import Faithfulness
from evenhand.scorers.rag.material import Contexts, RagMetric, answer_in, contexts_of, need_contexts
from evenhand.scorers.rag.proportions import asked_by, nothing, proportion, these
from evenhand.scorers.rag.sentences import letters
from evenhand.scorers.rag.verdicts import Group

PARTS = ("faithfulness", "coverage", "compression")


@dataclass(frozen=True, slots=True)
class Summarisation(RagMetric):
    """One of three numbers of a summary: `faithfulness`, `coverage` or `compression`.

    Faithfulness is the share of the summary's claims that the source supports. Coverage is the weighted share of the
    source's key claims that the summary supports; they are what the case stores as `reference_claims`, or else what the
    judge finds in the source. Compression is the summary's length over the source's, in letters and digits: less is
    shorter. Expect each that matters; there is no sum of them. An empty source or summary: not applicable.

    Args:
        source: What was summarised; the case's `context` by default.
        of: Which number.
        key_claims: What a good summary says: texts, or `{"claim": …, "weight": …}`.
        judge: Who judges; the set's judge by default. Compression asks nobody.
        definitions: Whose definition: evenhand, ragas or deepeval; those blend, and leave `of` aside.

    Raises:
        UsageError: The source isn't text, `of` is no number of a summary, or the judge isn't a model.
    """

    traits: ClassVar[Traits] = Traits(gives="number", scale=SHARES, may_ask_nobody=True)
    metric: ClassVar[str] = "summarisation"

    source: Contexts = field(default=None, hash=False)
    of: Literal["faithfulness", "coverage", "compression"] = field(
        default="faithfulness", kw_only=True
    )
    key_claims: Claims = field(default=None, kw_only=True, hash=False)
    definitions: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        RagMetric.__post_init__(self)
        need_contexts("Summarisation", self.source)
        if self.of not in PARTS:
            raise UsageError(
                f"Summarisation: of is {self.of!r}", hint=f"There are: {', '.join(PARTS)}."
            )

    async def score(self, output: Any, trial: Trial) -> Score:
        summary, source = answer_in(output), contexts_of(self.source, trial)
        if not any(map(str.isalnum, summary)):
            return nothing("the summary is empty")
        length = sum(map(letters, source))
        if not length:
            return nothing("there is no source")
        whose = definitions_for(self.metric, self.definitions)
        compression = letters(summary) / length
        if whose == "evenhand" and self.of == "compression":
            return Score(compression, None, f"{compression:.0%} of the source's length", {"n": 1})
        faithful = Faithfulness(source, question="", judge=self.judge, definitions="evenhand")
        if whose == "evenhand" and self.of == "faithfulness":
            return await faithful.score(summary, trial)
        covered = await self._coverage(summary, source, trial)
        if whose == "evenhand" or covered.value is None:
            return covered
        metadata = {**covered.metadata, "coverage": covered.value, "definitions": whose}
        if whose == "ragas":
            concise = 1 - min(letters(summary), length) / length
            reason = f"(coverage {covered.value:.2f} + conciseness {concise:.2f}) / 2"
            return Score((covered.value + concise) / 2, None, reason, metadata)
        kept_to = await faithful.score(summary, trial)
        if kept_to.value is None:
            return kept_to
        reason = f"the lower of faithfulness {kept_to.value:.2f} and coverage {covered.value:.2f}"
        metadata["faithfulness"] = kept_to.value
        return Score(min(kept_to.value, covered.value), None, reason, metadata)

    async def _coverage(self, summary: str, source: tuple[str, ...], trial: Trial) -> Score:
        analysis = Analysis(trial, self.judge)
        claims, found_by = await known_claims(self.key_claims, "", "\n\n".join(source), analysis)
        if not claims:
            return nothing("the source claims nothing", **asked_by(found_by))
        support = await analysis.support(Group(tuple(c.text for c in claims), (summary,)))
        total = sum(claim.weight for claim in claims)
        got = sum(
            claim.weight
            for claim, verdict in zip(claims, support.verdicts, strict=True)
            if verdict.stand == "supported"
        )
        yes, n = support.count("supported"), len(claims)
        reason = f"{yes} of {n} key claims kept"
        missing = these(support, "not_found")
        reason += f"; not: {missing}" if missing else ""
        metadata = {"claims": support.rows(), **asked_by(found_by, support.provenance)}
        if len({claim.weight for claim in claims}) == 1:
            return proportion(yes, n, reason, **metadata)
        return Score(got / total, None, reason, {"n": n, **metadata})

    def __str__(self) -> str:
        return f"{self.metric}:{self.of}"
