"""The judges of a cascade, lent to one trial."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.cascade import CascadeLimits
from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.errors import UsageError
from evenhand.core.message import CallRole, Messages, Model, Prompt, Reply
from evenhand.engine.call_context import LentModel
from evenhand.providers.cascade import CascadeJudge


class CascadeModel:
    """A cheap judge and a dearer one. Who asks a judge's question asks them in turn.

    Attributes:
        first: The decision model.
        then: The other one.
    """

    __slots__ = ("_cheap", "_judge", "first", "then")

    def __init__(self, judge: CascadeJudge, first: LentModel, then: Model, role: CallRole) -> None:
        if role == "subject":
            raise UsageError(
                "a model under evaluation can't be a cascade of judges",
                hint="Name one model; a cascade is for `judge`.",
            )
        self._judge = judge
        self._cheap = first
        self.first: Model = first
        self.then: Model = then

    @property
    def name(self) -> str:
        return self._judge.label

    @property
    def cascade(self) -> str:
        return self._judge.id

    @property
    def risk(self) -> float:
        return self._judge.risk

    def limits(self, metric: str) -> CascadeLimits | None:
        return self._judge.limits(metric)

    @property
    def decides(self) -> bool:
        return False  # what can't be asked of both in turn is asked of the one that writes

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        return await self._cheap.decide(questions)

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        return await self.then.generate(prompt)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await self.then.embed(texts)

    async def classify(self, text: str) -> dict[str, float]:
        return await self.then.classify(text)

    async def moderate(self, text: str) -> dict[str, float]:
        return await self.then.moderate(text)
