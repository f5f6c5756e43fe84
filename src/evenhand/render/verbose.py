"""Trials one after the other, each with every expectation: what `-v` prints, while a run goes on or afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.analysis.summaries.column_names import full_names
from evenhand.core.run import TrialResult
from evenhand.core.variant import Variant
from evenhand.core.wording.ink import Ink
from evenhand.core.wording.words import number, safe, seconds
from evenhand.render.outcome import label_lines, outcome_lines, titled, wrapped
from evenhand.store.labels.label import Label

ERROR_LINES = 4


class Verbose:
    """Puts trials into words.

    Args:
        repeats: How often each case is run.
        ink: For marks and colours.
        labels: What people say of trials, by place in the plan.
    """

    def __init__(
        self,
        variants: Sequence[Variant],
        repeats: int,
        width: int,
        ink: Ink,
        labels: Mapping[int, Sequence[Label]] | None = None,
    ) -> None:
        self._labels = labels or {}
        self._names = full_names(variants)
        self._repeats = repeats
        self._width = width
        self._ink = ink

    def text(self, trial: TrialResult) -> str:
        """The trial and its expectations, with an empty line after them."""
        return "\n".join(self.lines(trial)) + "\n\n"

    def lines(self, trial: TrialResult) -> list[str]:
        """The trial and its expectations, line by line."""
        width, ink = self._width, self._ink
        score = [] if trial.score is None else [f"score {number(trial.score)}"]
        took = [] if trial.latency_s is None else [seconds(trial.latency_s)]
        details = " · ".join(score + took)
        mark = f"  {ink.mark(trial.outcome)}"
        lines = titled(mark, self._place(trial), details, width, ink, "dim")
        for outcome in trial.outcomes:
            lines += outcome_lines(outcome, width, ink, "      ")
        if not trial.outcomes:
            lines += self._without(trial)
        return lines + label_lines(self._labels.get(trial.index, ()), width, "      ")

    def _place(self, trial: TrialResult) -> str:
        name = safe(trial.description or trial.case)
        parts = [self._names[trial.variant]] if len(self._names) > 1 else []
        parts.append(name)
        if self._repeats > 1:
            parts.append(f"repeat {trial.repeat + 1}")
        return " · ".join(parts)

    def _without(self, trial: TrialResult) -> list[str]:
        """What there is to say of a trial without outcomes: what went wrong, or that nothing was asked."""
        if trial.error is None:
            return [self._ink("      nothing is expected", "dim")]
        message = f"{trial.error.slug}: {trial.error.message}"
        lines = wrapped(message, self._width, "      ", ERROR_LINES)
        if trial.error.where:
            lines += wrapped(trial.error.where, self._width, "      ", ERROR_LINES)
        return lines
