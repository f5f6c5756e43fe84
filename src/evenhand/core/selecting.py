"""The parts of a selection that all front doors read alike: patterns, conditions, and what is left of a list."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from evenhand.core.errors import UsageError
from evenhand.core.plan import Selection

T = TypeVar("T")


def pattern_of(option: str, text: str) -> re.Pattern[str] | None:
    """A regular expression that an option was given; None for no text.

    Raises:
        UsageError: It is none.
    """
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise UsageError(f"{option}: '{text}' is not a regular expression: {error}") from None


def condition_of(text: str) -> tuple[str, str]:
    """What `--filter-metadata key=value` asks for.

    Raises:
        UsageError: It is no condition.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--filter-metadata: {text!r} is not a condition", hint="Write key=value.")
    return key, value


def says(metadata: Mapping[str, Any], key: str, wanted: str) -> bool:
    """Whether metadata says so: part of a text is enough, and one item of a list. What is true is `true`."""
    value = metadata.get(key)
    if value is None:
        return False
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else [value]
    texts = (str(item).lower() if isinstance(item, bool) else str(item) for item in items)
    return any(wanted in text for text in texts)


def taken(items: Sequence[T], selection: Selection) -> Sequence[T]:
    """What is left of items by their place: of a range, the first so many, and of these a sample."""
    if selection.range is not None:
        items = items[slice(*selection.range)]
    if selection.first is not None:
        items = items[: selection.first]
    if selection.sample is not None and selection.sample < len(items):
        drawn = random.Random(selection.seed).sample(range(len(items)), selection.sample)  # noqa: S311 (a sample, not a secret)
        items = [items[i] for i in sorted(drawn)]
    return items
