"""Whether the variants of one run are given the same test: bounds and scorers may hang on what is varied."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from evenhand.analysis.comparison.case_values import PASSED, CaseIds, Seen, read_trials
from evenhand.analysis.comparison.same_test import Likeness
from evenhand.core.score import Scale
from evenhand.core.wording.words import safe
from evenhand.store.runfile import RunFile

LOOKED_AT = 10_000
"""So many trials, the first ones, are looked at: what is asked is seldom asked of later cases alone."""


class VariantTests:
    """What each variant of a run is asked, read when it is first needed.

    Args:
        run: The run.
    """

    def __init__(self, run: RunFile) -> None:
        self._run = run

    @cached_property
    def _columns(self) -> dict[int, Seen]:
        columns = {variant.index for variant in self._run.meta.variants}
        trials = self._run.trials(limit=LOOKED_AT)
        return read_trials(trials, columns, (PASSED,), ids=CaseIds(), scales={})

    def mixed_scales(self) -> Iterator[str]:
        """The metrics whose means are over scores on several scales, in words: in one variant, or side by side."""
        scales: dict[str, set[Scale]] = {}
        for column in self._columns.values():
            for metric, each in column.tests.scales().items():
                scales.setdefault(metric, set()).update(each)
        for metric, each in scales.items():
            if len(each) > 1:
                listed = ", ".join(f"{low:g}–{high:g}" for low, high in sorted(each))
                yield f"{safe(metric)}: its scores are on several scales ({listed}), so that its means say little"

    def differ(self, first: int, second: int) -> str:
        """How two variants are asked otherwise, in words; empty where they are asked the same."""
        mine, theirs = self._columns[first], self._columns[second]
        likeness = Likeness(mine, theirs, one_run=True)
        reasons = (
            likeness.why_not(PASSED, number) for number in mine.cases if number in theirs.cases
        )
        # One reason is enough, and the first costs least.
        return next(filter(None, reasons), "")
