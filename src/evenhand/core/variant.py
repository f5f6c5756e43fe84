"""A variant: one cell of prompt × model × whatever else is varied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import field

from evenhand.core.encoding import encode
from evenhand.core.record import Record


class Variant(Record, frozen=True):
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
        contents: For axes whose values say more than their label, a prompt say, a digest of what they say.
        cluster: The variable of its cases, or the key of their metadata, that says which belong together; empty where
            each case stands alone.
    """

    index: int
    prompt: str
    model: str
    prompt_raw: str = ""
    provider_id: str = ""
    axes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    eval: str = ""
    where: str = ""
    contents: Mapping[str, str] = field(default_factory=dict[str, str])
    cluster: str = ""

    def __str__(self) -> str:
        return " · ".join(part for part in (self.prompt, self.model) if part)


def identity(variant: Variant) -> str:
    """A text that says which variant it is, whatever its place: its eval, prompt, model and axes, as JSON."""
    whole = [variant.eval, variant.prompt, variant.model, _axes(variant)]
    return encode(whole).decode("utf-8", "replace")


def identities(variants: Sequence[Variant]) -> list[str]:
    """A text for each variant that says which it is, whatever its place: its eval, prompt, model and axes, as JSON.

    Where several are alike, those after the first have their number behind it. Empty for no variants.
    """
    counts: Counter[str] = Counter()
    texts: list[str] = []
    for one in variants:
        text = identity(one)
        counts[text] += 1
        texts.append(text if counts[text] == 1 else f"{text} #{counts[text]}")
    return texts


def _axes(variant: Variant) -> Any:
    try:
        encode(variant.axes)
    except (TypeError, ValueError):
        return {str(name): str(value) for name, value in variant.axes.items()}
    return variant.axes
