"""All that people said of a run's trials: of the trials, of their judged metrics, and of the pairs that they are in."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.store.labels.label import Label, LabelValue
from evenhand.store.runfile import RunFile

_OF_METRICS, _OF_PAIRS = -(2**40), -(2**41)
"""Where the `seq` of those begin that are kept in tables of their own: below all labels of trials."""


def every_label(run: RunFile) -> list[Label]:
    """What people said of trials, each an event; see `store.labels.label.standing`.

    A verdict on a judged metric has the metric's name. A preference between two trials is a label of each of them.
    """
    return [*_of_pairs(run), *_of_metrics(run), *run.labels()]


def _of_metrics(run: RunFile) -> Iterator[Label]:
    for number, one in enumerate(run.metric_labels(), _OF_METRICS):
        yield Label(
            number, one.at, one.author, one.index, "verdict", one.verdict, metric=one.metric
        )


def _of_pairs(run: RunFile) -> Iterator[Label]:
    for number, one in enumerate(run.pair_labels()):
        for second, index in enumerate(one.pair):
            value: LabelValue = None
            if one.answer is not None:
                better = one.answer == ("second" if second else "first")
                other = one.pair[not second]
                word = (
                    "tied with"
                    if one.answer == "tie"
                    else "better than"
                    if better
                    else "worse than"
                )
                value = f"{word} trial {other}"
            seq = _OF_PAIRS + 2 * number + second
            yield Label(seq, one.at, one.author, index, "preference", value, metric=one.metric)
