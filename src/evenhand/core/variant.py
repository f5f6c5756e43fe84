"""A variant: one cell of prompt × model × whatever else is varied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination of prompt, model and whatever else is varied: a column of the matrix.

    Attributes:
        index: Its place among the variants, from 0.
        prompt: The prompt's label.
        model: The model's label.
        prompt_raw: The prompt as written, before rendering.
        provider_id: The model as asked for.
        axes: Further axes by name.
        eval: The eval that is run, set and function; empty where a config says what is run.
        where: The file and line that the eval stands in, `path:line`.
    """

    index: int
    prompt: str
    model: str
    prompt_raw: str = ""
    provider_id: str = ""
    axes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    eval: str = ""
    where: str = ""

    def __str__(self) -> str:
        return " · ".join(part for part in (self.prompt, self.model) if part)
