"""Which cases of a sheet a selection takes, and which of its variants: the one rule of all front doors.

Cases are chosen by what they say, then by their place among these: of a range, the first so many, and of them a sample.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from evenhand.core.errors import UsageError
from evenhand.core.json_shapes import is_sequence
from evenhand.core.plan import Selection

T = TypeVar("T")


class Selector:
    """A selection, ready to be asked.

    Raises:
        UsageError: A pattern is not a regular expression, or a condition is not `key=value`.
    """

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._drawn: frozenset[int] | None = None
        self._filter = pattern_of("--filter", selection.filter)
        self._pattern = pattern_of("--filter-pattern", selection.pattern)
        self._prompts = pattern_of("--filter-prompts", selection.prompts)
        self._models = pattern_of("--filter-providers", selection.models)
        self._metadata = [condition_of(text) for text in selection.metadata]

    @property
    def by_words(self) -> bool:
        """Whether the selection goes by what cases say."""
        s = self._selection
        return bool(s.filter or s.pattern or s.metadata) or s.only is not None

    @property
    def narrows(self) -> bool:
        """Whether the selection may leave a case out."""
        s = self._selection
        return self.by_words or bool(s.range) or s.first is not None or s.sample is not None

    @property
    def words(self) -> str:
        """The selection of cases, as it was asked for."""
        s = self._selection
        start, end = s.range or (None, None)
        parts = (
            *(f"--filter-metadata {text}" for text in s.metadata),
            "--filter-failing" if s.only is not None else "",
            f"--filter {s.filter!r}" if s.filter else "",
            f"--filter-pattern {s.pattern!r}" if s.pattern else "",
            f"--filter-range {'' if start is None else start}:{'' if end is None else end}"
            if s.range
            else "",
            f"--first {s.first}" if s.first is not None else "",
            f"--sample {s.sample}" if s.sample is not None else "",
        )
        return ", ".join(filter(None, parts)) or "everything"

    def takes(
        self,
        ids: Callable[[], Iterable[str]],
        description: str,
        values: Iterable[object],
        metadata: Mapping[str, Any],
    ) -> bool:
        """Whether a case says what is looked for, wherever it stands.

        Args:
            ids: The ids that it may go by.
            description: What it is called.
            values: Its input and variables.
        """
        only = self._selection.only
        if not all(says(metadata, key, expected) for key, expected in self._metadata):
            return False
        # Ids may have to be worked out, so they are only asked for where they decide.
        if only is not None and only.isdisjoint(ids()):
            return False
        if self._filter is not None:
            texts = (description, *(str(value) for value in values))
            if not any(map(self._filter.search, texts)):
                return False
        # As in promptfoo, a pattern never takes a case that has no description.
        return self._pattern is None or bool(description and self._pattern.search(description))

    def takes_prompt(self, name: str) -> bool:
        """Whether a variant's prompt is called so."""
        return self._prompts is None or bool(self._prompts.search(name))

    def takes_model(self, *names: str) -> bool:
        """Whether a variant's model is called so: by its id or its label."""
        return self._models is None or any(map(self._models.search, names))

    def placed(self, items: Sequence[T]) -> Sequence[T]:
        """What is left by their place of items that are all taken; these may be more than fit in memory."""
        s = self._selection
        if s.range is not None:
            items = items[slice(*s.range)]
        if s.first is not None:
            items = items[: s.first]
        if s.sample is not None and s.sample < len(items):
            items = [items[i] for i in self._sampled(range(len(items)))]
        return items

    def draw(self, count: int) -> None:
        """Chooses the sample for `walked`, once it is known how many are taken."""
        places = self._places(count)
        if self._selection.sample is not None and self._selection.sample < len(places):
            self._drawn = frozenset(self._sampled(places))

    def walked(self, items: Iterable[T], takes: Callable[[T], bool]) -> Iterator[tuple[T, bool]]:
        """Items up to the last that may be taken, and whether each is; for those that are read one by one."""
        if not self.narrows:
            for item in items:
                yield item, True
            return
        s = self._selection
        start, end = s.range or (None, None)
        start = start or 0
        if s.first is not None:
            end = start + s.first if end is None else min(end, start + s.first)
        place = 0
        for item in items:
            if end is not None and place >= end:
                return
            if not takes(item):
                yield item, False
                continue
            yield item, place >= start and (self._drawn is None or place in self._drawn)
            place += 1

    def _places(self, count: int) -> range:
        start, end = self._selection.range or (None, None)
        return range(count)[start:end][: self._selection.first]

    def _sampled(self, places: range) -> list[int]:
        count, seed = self._selection.sample or 0, self._selection.seed
        return sorted(random.Random(seed).sample(places, count))  # noqa: S311 (a sample, not a secret)


def pattern_of(option: str, text: str) -> re.Pattern[str] | None:
    """A regular expression that an option was given; None for no text.

    Raises:
        UsageError: It isn't one.
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


def says(metadata: Mapping[str, Any], key: str, expected: str) -> bool:
    """Whether metadata says so: part of a text is enough, and one item of a list. What is true is `true`."""
    value = metadata.get(key)
    if value is None:
        return False
    items = value if is_sequence(value) and not isinstance(value, (str, bytes)) else [value]
    texts = (str(item).lower() if isinstance(item, bool) else str(item) for item in items)
    return any(expected in text for text in texts)
