"""A judge that is lent with others to ask in its place."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.decision import Decision, DecisionQuestion
from evenhand.core.errors import UsageError
from evenhand.core.message import CallRole, Messages, Prompt, Reply
from evenhand.engine.call_context import LentModel


class FallbackModel:
    """Several models, lent to one trial. Who asks a judge's question asks the next one where one is out of reach.

    Attributes:
        models: In the order in which they are asked.
    """

    __slots__ = ("_role", "models")

    def __init__(self, models: Sequence[LentModel], role: CallRole) -> None:
        if role == "subject":
            raise UsageError(
                "a model under evaluation has no fallback: its answers would be another model's",
                hint="Name one model; a list of judges is for `judge`.",
            )
        self.models: Sequence[LentModel] = models
        self._role = role

    @property
    def name(self) -> str:
        return self.models[0].name

    @property
    def decides(self) -> bool:
        return self.models[0].decides

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        return await self.models[0].generate(prompt)

    async def decide(self, questions: Sequence[DecisionQuestion]) -> list[tuple[Decision, Reply]]:
        return await self.models[0].decide(questions)

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return await self.models[0].embed(texts)

    async def classify(self, text: str) -> dict[str, float]:
        return await self.models[0].classify(text)

    async def moderate(self, text: str) -> dict[str, float]:
        return await self.models[0].moderate(text)
