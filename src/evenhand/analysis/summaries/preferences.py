"""How often outputs were preferred to others: wins, losses and ties, each share with its interval."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import field

from evenhand.analysis.summaries.decisions import Decisions
from evenhand.analysis.summaries.marks import PREFERENCE
from evenhand.core.record import Record
from evenhand.core.run import Outcome, TrialResult
from evenhand.core.wording.words import count, safe
from evenhand.store.runfile import RunFile

_WINNERS = {"output": "won", "other": "lost", "tie": "tied"}


class Preferences(Record, frozen=True):
    """What one preference of a column comes to. One that is in error may have been a win, a loss or a tie.

    Attributes:
        variant: The column's index.
        name: The preference, as outcomes are called.
        won: How often the output was preferred, case by case.
        lost: How often the other one was.
        tied: How often neither was.
    """

    variant: int
    name: str
    won: Decisions = field(default_factory=Decisions)
    lost: Decisions = field(default_factory=Decisions)
    tied: Decisions = field(default_factory=Decisions)

    def add(self, case: str, result: str) -> None:
        """One pair more, by its result: `won`, `lost` or `tied`."""
        self.won.add(case, result == "won")
        self.lost.add(case, result == "lost")
        self.tied.add(case, result == "tied")

    def add_error(self, case: str) -> None:
        """A pair of which there is no verdict."""
        for decisions in (self.won, self.lost, self.tied):
            decisions.add_error(case, worst="fail", best="pass")

    def __str__(self) -> str:
        parts = [
            f"{word} {decisions.hits:,}, {decisions}"
            for word, decisions in (("won", self.won), ("lost", self.lost), ("tied", self.tied))
        ]
        errors = self.won.errors
        without = f" · {count(errors, 'trial')} without a verdict" if errors else ""
        return f"{safe(self.name)}: {' · '.join(parts)}, of {count(self.won.n, 'pair')}{without}"


def preferences(run: RunFile, places: Sequence[int] | None = None) -> list[Preferences]:
    """Wins, losses and ties of each column's preferences, in the columns' order.

    None of trials that were chosen by what came of them.

    Args:
        places: Where in the plan trials with preferences are, and maybe others; without them every trial is looked at.
    """
    if run.by_outcome:
        return []
    by_key: dict[tuple[int, str], Preferences] = {}
    stopped, groups = run.meta.ended_early, run.groups()
    for trial in run.measuring(PREFERENCE) if places is None else run.at(places):
        for outcome in trial.outcomes:
            if result := result_of(outcome):
                key = trial.variant, outcome.name
                if key not in by_key:
                    won, lost, tied = (
                        Decisions(stopped=stopped, groups=groups[trial.variant]) for _ in range(3)
                    )
                    by_key[key] = Preferences(*key, won, lost, tied)
                by_key[key].add(trial.case, result)
    # A second pass only where there are errors, each of which may have been any of the three.
    if by_key and run.totals().errors:
        for trial in run.trials():
            if trial.outcome == "error":
                _add_errors(by_key, trial)
    return [by_key[key] for key in sorted(by_key)]


def _add_errors(by_key: dict[tuple[int, str], Preferences], trial: TrialResult) -> None:
    """Counts the preferences without a verdict of a trial in error."""
    settled = {outcome.name for outcome in trial.outcomes if outcome.outcome != "error"}
    for (variant, name), one in by_key.items():
        if variant == trial.variant and name not in settled:
            one.add_error(trial.case)


def result_of(outcome: Outcome) -> str:
    """`won`, `lost` or `tied`; empty for an outcome that is no preference, or has no verdict."""
    metadata = outcome.metadata
    if "orders" not in metadata or PREFERENCE not in metadata or outcome.outcome == "error":
        return ""
    return _WINNERS.get(str(metadata.get("winner")), "")
