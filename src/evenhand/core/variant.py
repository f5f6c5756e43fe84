"""A variant: one cell of prompt × model × whatever else is varied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import field

from evenhand.core.document import Key
from evenhand.core.encoding import encode
from evenhand.core.record import Record


class RunVariant(Record, frozen=True, kw_only=True):
    """What documents call a variant."""

    prompt: Annotated[str, Key("the prompt's label")]
    model: Annotated[str, Key("the model's label")]


class Variant(Record, frozen=True):
    """One combination of prompt, model and whatever else is varied: a column of the matrix."""

    index: Annotated[int, Key("its place among the variants, from 0")]
    prompt: Annotated[str, Key("the prompt's label")]
    model: Annotated[str, Key("the model's label")]
    prompt_raw: Annotated[str, Key("the prompt as written, before rendering")] = ""
    provider_id: Annotated[str, Key("the model as asked for")] = ""
    axes: Annotated[Mapping[str, Any], Key("further axes by name")] = field(
        default_factory=dict[str, Any]
    )
    eval: Annotated[str, Key("set and function; empty for configs")] = ""
    where: Annotated[str, Key("`path:line` of the eval; empty for configs")] = ""
    contents: Annotated[
        Mapping[str, str],
        Key("for axes whose values say more than their label, a digest of what they say"),
    ] = field(default_factory=dict[str, str])
    cluster: Annotated[
        str,
        Key(
            "the variable of the cases, or key of their metadata, that says which belong together; "
            "empty for none"
        ),
    ] = ""

    @property
    def names(self) -> RunVariant:
        """What documents call it."""
        return RunVariant(prompt=self.prompt, model=self.model)

    def __str__(self) -> str:
        return " · ".join(part for part in (self.prompt, self.model) if part)


def eval_sets(variants: Sequence[Variant]) -> frozenset[str]:
    """The eval sets that variants are of, by name; an empty name for those of a config."""
    return frozenset(variant.eval.rpartition(": ")[0] for variant in variants)


def only_set(variants: Sequence[Variant]) -> str:
    """The eval set that all variants are of; empty for configs and several sets.

    >>> only_set([Variant(0, "", "", eval="notes: short"), Variant(1, "", "", eval="notes: kind")])
    'notes'
    """
    sets = eval_sets(variants)
    return next(iter(sets)) if len(sets) == 1 else ""


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
