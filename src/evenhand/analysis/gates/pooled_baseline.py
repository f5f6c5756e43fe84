"""Makes one baseline of several runs: those of one system are further repeats, those of others say how hard cases are.

The newest run is the baseline; which of the others are what is `earlier_runs`' to say. With repeats, each case has a
mean, and a variance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from evenhand.analysis.comparison.earlier_runs import EarlierRun, Scores, earlier_runs
from evenhand.analysis.gates.baseline import BaselineHeader, BaselineRun, BaselineTrial
from evenhand.analysis.gates.baseline_file import written
from evenhand.analysis.gates.baseline_making import baseline_parts, baseline_trials
from evenhand.analysis.trust.run_basis import system_of
from evenhand.core.record import Record
from evenhand.store.runfile import RunFile


class Pool(Record, frozen=True, kw_only=True):
    """A baseline of several runs, and what there is to know of it.

    Attributes:
        data: The baseline, as its file has it.
        pooled: How many earlier runs are repeats in it.
        systems: How many other systems it knows the scores of.
        notes: What was left out, and why, a line each.
        recorded: Whether calls show that the application was the same in all of them.
    """

    data: bytes
    pooled: int
    systems: int
    notes: tuple[str, ...]
    recorded: bool


def pooled_baseline(newest: RunFile, earlier: Iterable[RunFile], *, outputs: bool = False) -> Pool:
    """A baseline of a run and of runs before it.

    Args:
        newest: The run that later ones are compared with.
        earlier: Runs before it, the newest first. Each is read once, one at a time.
        outputs: With the outputs of the newest run's trials.

    Raises:
        UsageError: Nothing can be compared with the newest run.
    """
    header, trials = baseline_parts(newest, outputs=outputs)
    pooled: list[BaselineRun] = []
    systems: list[BaselineRun] = []
    scores: list[Scores] = []
    notes: list[str] = []
    for one in earlier_runs(newest, earlier, system_of, notes.append):
        at = BaselineRun(one.run.meta.id, round(one.run.meta.created_at, 3))
        if one.repeats:
            first = 1 + max(trial.repeat for trial in trials)
            trials += _as_repeats(one, header, first)
            pooled.append(at)
        else:
            systems.append(at)
            scores.append(one.scores)
    header = replace(header, pooled=pooled, systems=systems)
    return Pool(
        data=written(header, list(_with_scores(trials, header, scores))),
        pooled=len(pooled),
        systems=len(systems),
        notes=tuple(notes),
        recorded=bool(newest.last_call()),
    )


def _as_repeats(one: EarlierRun, header: BaselineHeader, first: int) -> Iterator[BaselineTrial]:
    """A run's trials as further repeats. Nothing is taken from them later: they say nothing of what they sent."""
    names = {own: header.variants[of].name for own, of in one.variants.items()}
    for trial in baseline_trials(one.run, names, without=one.copies):
        yield replace(
            trial, repeat=first + trial.repeat, subject=[], judge=[], checks="", output=UNSET
        )


def _with_scores(
    trials: Iterable[BaselineTrial], header: BaselineHeader, systems: Sequence[Scores]
) -> Iterator[BaselineTrial]:
    """The trials, the first of each case with what other systems scored on it."""
    places = {variant.name: place for place, variant in enumerate(header.variants)}
    firsts: set[tuple[int, str]] = set()
    for trial in sorted(trials, key=lambda one: one.repeat):
        key = places[trial.variant], trial.case
        if not systems or key in firsts:
            yield trial
            continue
        firsts.add(key)
        of_case = [system.get(key, {}) for system in systems]
        metrics = sorted({metric for scores in of_case for metric in scores})
        yield replace(
            trial, earlier={metric: [one.get(metric) for one in of_case] for metric in metrics}
        )
