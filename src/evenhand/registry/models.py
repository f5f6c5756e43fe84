"""Models as an eval.yml names them: with a provider's name before them, or a vendor's bare names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from evenhand.core.errors import UsageError
from evenhand.core.provider import Provider
from evenhand.documents.project import project_for
from evenhand.providers.catalog import create, timed

Prices = Mapping[str, Mapping[str, float]]
"""Of models, by id: `cost`, or `inputCost` and `outputCost`, in dollars per token."""

_BARE = (
    (re.compile(r"claude-[\w.@-]+"), "anthropic"),
    (re.compile(r"(gpt-|o\d|chatgpt-)[\w.-]*"), "openai"),
)


def model_id(name: str) -> str:
    """The id of a model: `claude-haiku-4-5` is `anthropic:claude-haiku-4-5`; what has a colon is an id already."""
    for pattern, vendor in _BARE:
        if pattern.fullmatch(name):
            return f"{vendor}:{name}"
    return name


class Models:
    """The models of a plan, each made once for each time limit.

    Args:
        env: The environment: keys and addresses.
        base: The folder that paths in ids start from; its project says how long an attempt may take, by default.
        prices: What models cost, by id, in the words of a provider's config.
    """

    def __init__(self, env: Mapping[str, str], base: Path, prices: Prices | None = None) -> None:
        self._timeout_s = project_for(base).timeout_s
        self.env = env
        self.prices = dict(prices or {})
        self._base = base
        self._made: dict[tuple[str, float | None], Provider] = {}

    def __call__(self, name: str, timeout_s: float | None = None) -> Provider:
        """The model with this name.

        Raises:
            UsageError: Nobody knows it.
        """
        key = (model_id(name), timeout_s)
        if key not in self._made:
            self._made[key] = self._create(*key)
        return self._made[key]

    def wrong(self, name: str) -> UsageError | None:
        """What is wrong with a name; None for one that somebody knows."""
        try:
            self._create(model_id(name), None)
        except UsageError as error:
            return error
        return None

    def _create(self, id: str, timeout_s: float | None) -> Provider:  # noqa: A002 (the word that users write)
        limit_s = self._timeout_s if timeout_s is None else timeout_s
        config: dict[str, object] = {**self.prices.get(id, {}), **timed(id, limit_s)}
        return create(id, config=config, env=self.env, base=self._base)

    @property
    def made(self) -> list[Provider]:
        """All that were made."""
        return list(self._made.values())
