"""Which tests a selection takes, and which columns."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from evenhand.core.case import case_id
from evenhand.core.errors import NothingSelected
from evenhand.core.plan import Selection
from evenhand.core.selecting import condition_of, pattern_of, says
from evenhand.promptfoo.cases import Test
from evenhand.promptfoo.models import Column
from evenhand.promptfoo.prompts import AnyPrompt


class Selected:
    """Which tests a selection takes: by what they say, then by their place, then the first, then a sample of these."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._drawn: frozenset[int] | None = None
        self._filter = pattern_of("--filter", selection.filter)
        self._pattern = pattern_of("--filter-pattern", selection.pattern)
        self._metadata = [condition_of(text) for text in selection.metadata]

    @property
    def narrows(self) -> bool:
        """Whether it leaves any test out."""
        s = self._selection
        return bool(s.filter or s.pattern or s.metadata or s.range) or any(
            bound is not None for bound in (s.first, s.sample, s.only)
        )

    @property
    def words(self) -> str:
        """The selection, as it was asked for."""
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

    def draw(self, matching: int) -> None:
        """Chooses the sample, once it is known how many match."""
        s = self._selection
        start, end = s.range or (None, None)
        places = range(matching)[start:end][: s.first]
        if s.sample is not None and s.sample < len(places):
            self._drawn = frozenset(random.Random(s.seed).sample(places, s.sample))  # noqa: S311 (a sample, not a secret)

    def matches(self, test: Test) -> bool:
        """Whether what it says is what is looked for."""
        only = self._selection.only
        if not all(says(test.metadata, key, value) for key, value in self._metadata):
            return False
        if only is not None and not any(case_id(v) in only for v in test.cases()):
            return False
        if self._filter is not None:
            texts = (test.description, *(str(value) for value in test.variables.values()))
            if not any(self._filter.search(text) for text in texts):
                return False
        return self._pattern is None or bool(self._pattern.search(test.description))

    def of(self, tests: Iterator[Test]) -> Iterator[Test]:
        """The tests that are taken."""
        return (test for test, taken in self.walked(tests) if taken)

    def walked(self, tests: Iterator[Test]) -> Iterator[tuple[Test, bool]]:
        """The tests up to the last that may be taken, and whether each is."""
        s = self._selection
        start, end = s.range or (None, None)
        start = start or 0
        if s.first is not None:
            end = start + s.first if end is None else min(end, start + s.first)
        number = 0
        for test in tests:
            if end is not None and number >= end:
                return
            if not self.matches(test):
                yield test, False
                continue
            yield test, number >= start and (self._drawn is None or number in self._drawn)
            number += 1


def selected_columns(
    prompts: Sequence[AnyPrompt], columns: Sequence[Column], selection: Selection
) -> tuple[list[AnyPrompt], list[Column]]:
    """The prompts and models that a selection takes.

    Raises:
        NothingSelected: It takes none.
        UsageError: It is no regular expression.
    """
    said = pattern_of("--filter-prompts", selection.prompts)
    named = pattern_of("--filter-providers", selection.models)
    some = [p for p in prompts if said is None or said.search(p.label)]
    models = [
        c
        for c in columns
        if named is None or named.search(c.provider.id) or named.search(c.provider.label)
    ]
    if prompts and not some:
        there = ", ".join(p.label for p in prompts[:10])
        raise NothingSelected(
            f"--filter-prompts {selection.prompts!r} leaves no prompt", hint=f"There are: {there}."
        )
    if columns and not models:
        there = ", ".join(c.provider.label for c in columns[:10])
        raise NothingSelected(
            f"--filter-providers {selection.models!r} leaves no provider",
            hint=f"There are: {there}.",
        )
    return some, models
