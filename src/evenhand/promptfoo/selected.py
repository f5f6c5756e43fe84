"""Which tests a selection takes."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from evenhand.core.errors import UsageError
from evenhand.core.plan import Selection
from evenhand.promptfoo.cases import Test


class Selected:
    """Which tests a selection takes: filter, then sample, then first."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._drawn: frozenset[int] | None = None
        try:
            self._pattern = re.compile(selection.filter) if selection.filter else None
        except re.error as error:
            raise UsageError(
                f"--filter: '{selection.filter}' is not a regular expression: {error}"
            ) from None

    @property
    def narrows(self) -> bool:
        """Whether it leaves anything out."""
        s = self._selection
        return bool(s.filter) or s.first is not None or s.sample is not None

    @property
    def words(self) -> str:
        """The selection, as it was asked for."""
        s = self._selection
        parts = (
            f"--filter {s.filter!r}" if s.filter else "",
            f"--sample {s.sample}" if s.sample is not None else "",
            f"--first {s.first}" if s.first is not None else "",
        )
        return ", ".join(filter(None, parts)) or "everything"

    def draw(self, matching: int) -> None:
        """Chooses the sample, once it is known how many match the filter."""
        wanted = self._selection.sample
        if wanted is not None and wanted < matching:
            chosen = random.Random(self._selection.seed).sample(range(matching), wanted)  # noqa: S311 (a sample, not a secret)
            self._drawn = frozenset(chosen)

    def matches(self, test: Test) -> bool:
        """Whether the filter takes a test."""
        if self._pattern is None:
            return True
        texts = (test.description, *(str(value) for value in test.variables.values()))
        return any(self._pattern.search(text) for text in texts)

    def of(self, tests: Iterator[Test]) -> Iterator[Test]:
        """The tests that are taken."""
        return (test for test, taken in self.walked(tests) if taken)

    def walked(self, tests: Iterator[Test]) -> Iterator[tuple[Test, bool]]:
        """The tests up to the last that is taken, and whether each is."""
        first = self._selection.first
        number = taken = 0
        for test in tests:
            if first is not None and taken >= first:
                return
            if not self.matches(test):
                yield test, False
                continue
            chosen = self._drawn is None or number in self._drawn
            number += 1
            taken += chosen
            yield test, chosen
