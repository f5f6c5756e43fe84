"""What the page shows of a run's labels: people's, and beside them what judges said of the same outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from evenhand.analysis.trust.beside_people import JudgedVerdict, judged_verdicts, labelled_places
from evenhand.analysis.trust.every_label import every_label
from evenhand.core.document import Key
from evenhand.core.record import Record
from evenhand.store.labels.label import Label, standing
from evenhand.store.runfile import RunFile


class LabelsShape(Record, frozen=True, kw_only=True):
    """What people said of a run's trials, and what judges said of those that people judged."""

    labels: Annotated[Sequence[Label], Key("Every event, in the order in which it was given.")]
    judged: Annotated[
        Sequence[JudgedVerdict], Key("Of trials with a person's verdict on a judged metric.")
    ]


def run_labels(run: RunFile) -> LabelsShape:
    """All labels of a run; without any, both lists are empty.

    Raises:
        StoreError: The run cannot be read.
    """
    labels = every_label(run)
    return LabelsShape(
        labels=labels, judged=judged_verdicts(run, labelled_places(standing(labels)))
    )
