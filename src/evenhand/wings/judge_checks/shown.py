"""Whether a judge is shown the text that it is asked about: where it isn't, nothing is probed, and that is an error."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, cast

from evenhand.core.errors import ScoreError
from evenhand.core.expect import Trial
from evenhand.core.message import CallRole, Model, Prompt, Reply
from evenhand.core.provider import Provider
from evenhand.core.score import Score
from evenhand.core.traits import Traits, label_of, traits_of

_NOT_A_WORD = re.compile(r"\W+")
_COMPARED = 40
"""Characters of a text that are looked for in what a judge is asked."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A judge's question, which is an error where the judge is not shown the text at all: then nothing is probed."""

    scorer: Any
    text: str
    _requests: list[str] = field(default_factory=list[str], repr=False)

    @property
    def traits(self) -> Traits:
        """The question's traits."""
        return traits_of(self.scorer)

    async def score(self, output: Any, trial: Trial) -> Score:
        if traits_of(self.scorer).of_contexts:
            raise not_shown()
        score = self.scorer.score(output, cast("Trial", _Watched(trial, self._requests)))
        score = score if isinstance(score, Score) else await score
        if self._requests and not hasattr(self.scorer, "code") and not self._seen():
            raise not_shown()
        return score

    def _seen(self) -> bool:
        # A request may hold the text escaped, or in other white space: only its words are compared.
        lines = self.text.strip().splitlines()
        start = _NOT_A_WORD.sub("", lines[0])[:_COMPARED] if lines else ""
        return any(start in _NOT_A_WORD.sub("", request) for request in self._requests)

    def __str__(self) -> str:
        return label_of(self.scorer)


def not_shown() -> ScoreError:
    """What to say of a judge that looks at something else than the output."""
    return ScoreError(
        "the judge is not shown the output, so it cannot be attacked with one",
        hint="Leave this metric out: --metric NAME probes another one.",
    )


class _Watched:
    """A trial whose judges' requests are kept."""

    def __init__(self, trial: Trial, requests: list[str]) -> None:
        self._trial, self._requests = trial, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trial, name)

    def model(self, provider: Provider, role: CallRole) -> Model:
        """The model, with its requests kept."""
        return cast("Model", _WatchedModel(self._trial.model(provider, role), self._requests))


class _WatchedModel:
    """A model whose requests are kept."""

    def __init__(self, model: Model, requests: list[str]) -> None:
        self._model, self._requests = model, requests

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def generate(self, prompt: Prompt | str) -> Reply:
        """Asks."""
        if isinstance(prompt, str):
            self._requests.append(prompt)
        else:
            contents = [message.content for message in prompt.messages]
            texts = [
                c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in contents
            ]
            self._requests.append("\n".join([*texts, prompt.text]))
        return await self._model.generate(prompt)
