"""Labels of outputs that a resumed run has replaced: they say nothing of what stands in their place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evenhand.core.definition import brief
from evenhand.store.labels.label import Label, NewLabel, standing
from evenhand.store.labels.stored_draws import (
    add_pair_labels,
    standing_labels,
    standing_pair_labels,
)
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.runfile import RunFile

_OF_OUTPUT = frozenset({"verdict", "score", "code"})
"""What people say of an output itself. Notes, stars and what becomes of a case in a dataset stay."""


def labelled_outputs(path: Path) -> dict[int, str]:
    """A digest of each output that people have said something of, by its place in the plan.

    Raises:
        StoreError: The file cannot be read.
    """
    with RunFile.open(path) as run:
        places = {place for place, _ in standing_labels(run.metric_labels())}
        places |= {i for pair, _ in standing_pair_labels(run.pair_labels()) for i in pair}
        places |= {label.index for label in _standing(run)}
        return {trial.index: brief(trial.output) for trial in run.at(sorted(places))}


def take_back_replaced(path: Path, before: Mapping[int, str]) -> int:
    """Takes back what people said of outputs that are others now; how many labels that were.

    Args:
        path: The run's file.
        before: What was labelled, as `labelled_outputs` had it.

    Raises:
        StoreError: The file cannot be read or written.
    """
    with RunFile.open(path) as run:
        replaced = {
            trial.index
            for trial in run.at(sorted(before))
            if brief(trial.output) != before[trial.index]
        }
        if not replaced:
            return 0
        metrics = standing_labels(run.metric_labels())
        labels = [
            NewLabel(place, "verdict", None, author, metric=metric)
            for (place, metric), by_author in metrics.items()
            if place in replaced
            for author in by_author
        ]
        labels += [
            NewLabel(one.index, one.field, None, one.author)
            for one in _standing(run)
            if one.index in replaced
        ]
        pairs = [
            (author, pair, metric)
            for (pair, metric), by_author in standing_pair_labels(run.pair_labels()).items()
            if replaced & {*pair}
            for author in by_author
        ]
    append_labels(path, labels)
    for author, pair, metric in pairs:
        add_pair_labels(path, author, [(pair, metric, None)])
    return len(labels) + len(pairs)


def _standing(run: RunFile) -> list[Label]:
    """What counts of what people say of whole trials."""
    every = [label for of_trial in standing(run.labels()).values() for label in of_trial]
    return [label for label in every if not label.metric and label.field in _OF_OUTPUT]
