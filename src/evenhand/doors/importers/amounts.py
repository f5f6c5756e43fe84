"""Amounts of imported trials that can't be right: so large that a run file or a sum can't hold them, or below 0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from evenhand.core.record import MutableRecord
from evenhand.core.run import Judged, TrialResult
from evenhand.languages.documents.foreign import LAST_SECOND, MOST_TOKENS, MOST_USD

_MOST = {
    "latency_s": LAST_SECOND,
    "started_s": LAST_SECOND,
    "duration_s": LAST_SECOND,
    "cost_usd": MOST_USD,
    "unpaid_usd": MOST_USD,
    "tokens_in": MOST_TOKENS,
    "tokens_out": MOST_TOKENS,
    "calls": MOST_TOKENS,
    "cached": MOST_TOKENS,
}
_COUNTS = ("calls", "cached")
"""Amounts that are 0 where they aren't known. Of a judge, all amounts but its cost are."""


class PossibleTrials(MutableRecord):
    """Trials without amounts that can't be right.

    Attributes:
        changed: How many trials had some.
    """

    changed: int = 0

    def of(self, trials: Iterable[TrialResult]) -> Iterator[TrialResult]:
        """The trials, one at a time."""
        for trial in trials:
            sound = _possible_trial(trial)
            self.changed += sound is not trial
            yield sound


def _possible_trial(trial: TrialResult) -> TrialResult:
    parts: dict[str, Any] = {
        "answer": _possible(trial.answer),
        "judged": trial.judged and _possible(trial.judged),
        "compared": trial.compared and _possible(trial.compared),
    }
    changed = {name: part for name, part in parts.items() if part is not getattr(trial, name)}
    steps = tuple(map(_possible, trial.steps))
    if any(step is not before for step, before in zip(steps, trial.steps, strict=True)):
        changed["steps"] = steps
    whole = _possible(trial)
    return replace(whole, **changed) if changed else whole


R = TypeVar("R", bound=Struct)


def _possible(record: R) -> R:
    """A record without amounts that can't be right; itself where it has none."""
    wrong: dict[str, int | None] = {}
    for name in record.__struct_fields__:
        value = getattr(record, name)
        if name in _MOST and value is not None and not 0 <= value <= _MOST[name]:
            count = name in _COUNTS or (isinstance(record, Judged) and name != "cost_usd")
            wrong[name] = 0 if count else None
    return replace(record, **wrong) if wrong else record
