"""A model, lent to one trial in one role."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol

from evenhand.core.message import CallRole, Message, Messages, Prompt, Reply, Task
from evenhand.core.provider import Provider
from evenhand.engine.budget import Spending
from evenhand.engine.call_context import phase
from evenhand.providers.configured import reading_by


class Borrower(Protocol):
    """The trial that a model is lent to, as far as the model tells it what it answered."""

    prompt_text: str
    reply: Reply | None
    spending: Spending


Ask = Callable[[Provider, Prompt, CallRole], Awaitable[Reply]]
"""Asks for the trial, with journal, cache, limits, budget and retries."""


class LentModel:
    """A provider, lent to one trial in one role."""

    __slots__ = ("_ask", "_provider", "_role", "_trial")

    def __init__(self, trial: Borrower, ask: Ask, provider: Provider, role: CallRole) -> None:
        self._trial = trial
        self._ask = ask
        self._provider = provider
        self._role: CallRole = role

    @property
    def name(self) -> str:
        return self._provider.label

    @property
    def provider(self) -> Provider:
        """What is lent."""
        return self._provider

    async def generate(self, prompt: Prompt | str | Messages) -> Reply:
        prompt = prompt if isinstance(prompt, Prompt) else Prompt.of(prompt)
        trial, role = self._trial, self._role
        if role == "subject":
            if phase.get() == "setup":  # lent to an eval, and asked by what prepares it
                role = "setup"
            else:
                trial.prompt_text = prompt.text
        provider = reading_by(self._provider, prompt.config) if prompt.config else self._provider
        reply = await self._ask(provider, prompt, role)
        trial.spending.add(reply, role)
        if role == "subject":
            trial.reply = reply
        return reply

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if len(texts) == 1:
            return [await self._measure(texts[0], "embed")]
        unique = dict.fromkeys(texts)  # the same text twice is one question
        asked = {text: asyncio.ensure_future(self._measure(text, "embed")) for text in unique}
        try:
            await asyncio.gather(*asked.values())
        except BaseException:
            for task in asked.values():
                task.cancel()
            await asyncio.wait(asked.values())
            raise
        return [asked[text].result() for text in texts]

    async def classify(self, text: str) -> dict[str, float]:
        return await self._measure(text, "classify")

    async def moderate(self, text: str) -> dict[str, float]:
        return await self._measure(text, "moderate")

    async def _measure(self, text: str, task: Task) -> Any:
        prompt = Prompt((Message("user", text),), text, task=task)
        reply = await self._ask(self._provider, prompt, self._role)
        self._trial.spending.add(reply, self._role)
        return reply.output
