"""Labels of outputs that a resumed run has replaced: they say nothing of what stands in their place.

How this works: before a run goes on, the outputs that people have said something of are noted in a file beside its
lock, and looked at again when it has ended. Where it is killed, that file stays, and whoever goes on next looks first.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import msgspec

from evenhand.core.definition import brief
from evenhand.store.home import lock_of
from evenhand.store.labels.label import Label, NewLabel, standing
from evenhand.store.labels.stored_draws import (
    add_pair_labels,
    standing_labels,
    standing_pair_labels,
)
from evenhand.store.labels.stored_labels import append_labels
from evenhand.store.replacing import replaced
from evenhand.store.runfile import RunFile

_OF_OUTPUT = frozenset({"verdict", "score", "code"})
"""What people say of an output itself. Notes, stars and what becomes of a case in a dataset stay."""


class LabelledOutputs:
    """The labelled outputs of a run that goes on, as its lock's holder finds them before anything is settled.

    Attributes:
        of_killed: How many labels were taken back of outputs that a killed session had replaced.

    Raises:
        StoreError: The file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._note = lock_of(path).with_suffix(".labelled")
        self._before: Mapping[int, str] = {}
        # What a machine that went down has left of it may be no JSON.
        with contextlib.suppress(FileNotFoundError, ValueError):
            self._before = msgspec.json.decode(self._note.read_bytes(), type=dict[int, str])
        self.of_killed = self.take_back()
        self._before = labelled_outputs(path)
        if self._before:
            with replaced(self._note) as file:
                file.write_bytes(msgspec.json.encode(self._before))

    def take_back(self) -> int:
        """Takes back what people said of outputs that are others now; how many labels that were.

        Raises:
            StoreError: The file cannot be read or written.
        """
        number = take_back_replaced(self._path, self._before) if self._before else 0
        self._note.unlink(missing_ok=True)
        return number


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
        others = {
            trial.index
            for trial in run.at(sorted(before))
            if brief(trial.output) != before[trial.index]
        }
        if not others:
            return 0
        metrics = standing_labels(run.metric_labels())
        labels = [
            NewLabel(place, "verdict", None, author, metric=metric)
            for (place, metric), by_author in metrics.items()
            if place in others
            for author in by_author
        ]
        labels += [
            NewLabel(one.index, one.field, None, one.author)
            for one in _standing(run)
            if one.index in others
        ]
        pairs = [
            (author, pair, metric)
            for (pair, metric), by_author in standing_pair_labels(run.pair_labels()).items()
            if others & {*pair}
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
