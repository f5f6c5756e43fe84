"""A drawn dataset while people look at its traces: what they leave out is taken out of the file.

How this works: a decision is a label of the trace, in its run's file. The dataset follows from the draw and the labels,
so a review can be broken off and taken up again with the same command. The file is read before it is written: what
somebody wrote into a case meanwhile, such as what a right answer is, stays.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from evenhand.core.case import Case
from evenhand.core.record import Record
from evenhand.doors.eval_sets.dataset import Dataset
from evenhand.store.labels.label import Label
from evenhand.store.runfile import RunFile
from evenhand.wings.traces.cases import DrawnCases, decisions

REVIEWED_BY = "reviewed_by"


class Reviewed(Record, frozen=True):
    """How far a review is.

    Attributes:
        cases: In the file now.
        kept: How many people decided to keep.
        left_out: How many they left out.
    """

    cases: int
    kept: int
    left_out: int


class DatasetReview:
    """A dataset that was drawn from a run's traces, and is reviewed.

    Args:
        run: The run's file.
        drawn: What was drawn from it.
        to: The dataset's file.
    """

    def __init__(self, run: Path, drawn: DrawnCases, to: Path) -> None:
        self.run = run
        self.file = to
        self.places = drawn.places
        self._drawn = {case.id: case for case in drawn.cases}
        self._place_of = dict(zip(self._drawn, drawn.places, strict=True))
        self._seen: dict[str, Case] = {}
        self._written: int | None = None
        self._lock = threading.Lock()

    def write(self) -> Reviewed:
        """Writes the dataset as the labels have it. At first, the file has the drawn cases and no others.

        Raises:
            UsageError: The file cannot be written, or what is there is no dataset.
            StoreError: The run's file cannot be read.
        """
        with self._lock:
            others = self._look()
            with RunFile.open(self.run) as run:
                decided = decisions(run.labels())
            mine = [
                _marked(self._seen.get(id_, case), decided.get(self._place_of[id_]))
                for id_, case in self._drawn.items()
                if _value(decided, self._place_of[id_]) != "leave out"
            ]
            cases = [*mine, *others]
            Dataset(cases).write(self.file)
            self._written = len(cases)
            values = [_value(decided, place) for place in self.places]
            return Reviewed(len(cases), values.count("keep"), values.count("leave out"))

    def _look(self) -> list[Case]:
        """Takes in what the file holds by now; the cases in it that were not drawn here."""
        first = self._written is None
        if self._written == 0 or not self.file.is_file() or not self.file.stat().st_size:
            return []
        there = list(Dataset.read(self.file))
        self._seen |= {case.id: case for case in there if case.id in self._drawn}
        return [] if first else [case for case in there if case.id not in self._drawn]


def _value(decided: Mapping[int, Label], place: int) -> object:
    label = decided.get(place)
    return None if label is None else label.value


def _marked(case: Case, label: Label | None) -> Case:
    """The case with the name of who decided to keep it; without one where nobody did."""
    metadata = {key: value for key, value in case.metadata.items() if key != REVIEWED_BY}
    if label is not None:
        metadata[REVIEWED_BY] = label.author
    return replace(case, metadata=metadata)
